import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from '../../support/root.js';
import type { YamlDocument } from './documents.js';

const PATH = join(ROOT, 'test/deployment/manifests.ts');

/**
 * What the compiler says of manifests that are written down as values of Kubernetes' types. Unlike a schema's validation
 * that finds members that do not exist, such as misspelt ones.
 */
export function typeProblems(manifests: readonly YamlDocument[]): readonly string[] {
  const source = manifests
    .map(({ content }, index) => {
      const { apiVersion, kind } = content as { readonly apiVersion: string; readonly kind: string };
      const type = `import('kubernetes-models/${apiVersion}/${kind}').I${kind}`;
      return `export const manifest${index}: ${type} = ${JSON.stringify(content)};`;
    })
    .join('\n');
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
  };
  const onDisk = ts.createCompilerHost(options);
  const host: ts.CompilerHost = {
    ...onDisk,
    fileExists: (path) => path === PATH || onDisk.fileExists(path),
    getSourceFile: (path, version) =>
      path === PATH ? ts.createSourceFile(path, source, version) : onDisk.getSourceFile(path, version),
  };
  const program = ts.createProgram([PATH], options, host);
  return ts.getPreEmitDiagnostics(program).map((diagnostic) => {
    const line = diagnostic.file?.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line ?? 0;
    return `${manifests[line]?.file ?? ''}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n')}`;
  });
}
