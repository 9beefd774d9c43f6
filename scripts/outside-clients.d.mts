/** Where what the tests look at Gapless with from outside is kept. */
export function outsideClientPaths(root: string): {
  readonly kafkaTools: string;
  readonly pythonPackages: string;
  readonly pythonKafka: string;
  readonly go: string;
  readonly hadolint: string;
  readonly kubernetesTools: string;
  readonly kubernetesSchemas: string;
  readonly mcpJudges: string;
};
export function goEnvironment(root: string): NodeJS.ProcessEnv;
