import type { Type } from '@nestjs/common';
import { STAGE_NAMES, STAGES, type StageDefinition } from '#libs/runtime';

/**
 * Returns the modules of the stages that run on the thread, each from the folder with its stage's name. Modules of the
 * other thread are not loaded.
 * @throws Error for a stage without a module
 */
export async function stageModules(thread: StageDefinition['thread']): Promise<readonly Type[]> {
  return Promise.all(STAGE_NAMES.filter((name) => STAGES[name].thread === thread).map(moduleOf));
}

async function moduleOf(stage: string): Promise<Type> {
  const path = `../../${stage}/src/${stage}.module.js`;
  const name = `${stage.charAt(0).toUpperCase()}${stage.slice(1)}Module`;
  const module = ((await import(path)) as Readonly<Record<string, Type>>)[name];
  if (module === undefined) throw new Error(`${path} exports no ${name}`);
  return module;
}
