/**
 * Replaces the lines between the comments `# <name>: begin …` and `# <name>: end`, and indents them as the comments are.
 * @throws Error when the comments are missing
 */
export function replaceLines(text: string, name: string, lines: readonly string[]): string {
  const marked = new RegExp(`^( *)(# ${name}: begin; npm run generate writes it\n)[^]*?(?=^ *# ${name}: end$)`, 'm');
  if (!marked.test(text)) throw new Error(`the comments that mark ${name} are missing`);
  return text.replace(marked, (_, indent: string, begin: string) => {
    const indented = lines.map((line) => (line === '' ? '\n' : `${indent}${line}\n`));
    return `${indent}${begin}${indented.join('')}`;
  });
}
