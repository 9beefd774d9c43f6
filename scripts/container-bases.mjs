import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { runTool } from './run-tool.mjs';

/** What docker/Dockerfile is built on by default. */
const PUBLIC = { node: 'node:20.20-bookworm-slim', debian: 'debian:bookworm-slim' };

/** The images that are made here instead. */
const LOCAL = { node: 'gapless-base:node', debian: 'gapless-base:debian' };

const RELEASE = 'bookworm';
const NODE_VERSION = '20.20.2';
const NPM_VERSION = '10.9.9';
const PULL_TIMEOUT_S = 120;

/**
 * The images that ours are built on: the public ones where they can be pulled, else the same made of Debian's and npm's
 * packages.
 * @param {{root: string, env: NodeJS.ProcessEnv, print: (line: string) => void}} options
 * @returns {Promise<{node: string, debian: string}>} Debian with Node and npm, and Debian alone.
 */
export async function containerBases({ root, env, print }) {
  const docker = (...args) =>
    runTool('docker', args, { cwd: root, env, advice: 'Fix the error, then run this again.' });
  const isThere = async (image) => (await docker('images', '--quiet', image)).trim() !== '';
  try {
    for (const image of Object.values(PUBLIC)) {
      if (await isThere(image)) continue;
      print(`Pulling ${image} …`);
      const args = ['--kill-after=5', String(PULL_TIMEOUT_S), 'docker', 'pull', '--quiet', image];
      await runTool('timeout', args, { cwd: root, env, advice: '' });
    }
    return PUBLIC;
  } catch {
    print('It cannot be pulled: the base is made of packages.');
  }
  const cache = join(root, '.cache/container-base');
  mkdirSync(cache, { recursive: true });
  if (!(await isThere(LOCAL.debian))) {
    const tarball = join(cache, `${RELEASE}.tar`);
    if (!existsSync(tarball)) {
      print(`Fetching Debian ${RELEASE} …`);
      await makeDebian(cache, tarball);
    }
    await docker('import', tarball, LOCAL.debian);
  }
  if (!(await isThere(LOCAL.node))) {
    print(`Building ${LOCAL.node} …`);
    await fetchNode(cache);
    const dockerfile = join(root, 'docker/base/Dockerfile');
    await docker(
      'build',
      '--file',
      dockerfile,
      '--tag',
      LOCAL.node,
      '--build-arg',
      `DEBIAN_IMAGE=${LOCAL.debian}`,
      cache,
    );
  }
  return LOCAL;
}

/** Needs root. The tarball appears when it is whole. */
async function makeDebian(cache, tarball) {
  const advice = 'debootstrap makes the base: it needs root, and a Debian mirror that can be reached.';
  const run = (command, ...args) => runTool(command, args, { cwd: cache, advice });
  await run('apt-get', 'install', '-y', '--no-install-recommends', 'debootstrap');
  const draft = mkdtempSync(join(cache, 'fetching-'));
  try {
    const tree = join(draft, 'tree');
    const mirror = debianMirror();
    await run(
      'debootstrap',
      '--variant=minbase',
      '--include=ca-certificates',
      RELEASE,
      tree,
      ...(mirror ? [mirror] : []),
    );
    trustWhomThisMachineTrusts(tree);
    await run('chroot', tree, 'update-ca-certificates');
    for (const left of ['var/cache/apt/archives', 'var/lib/apt/lists']) {
      rmSync(join(tree, left), { recursive: true, force: true });
    }
    await run('tar', '--create', '--file', join(draft, 'tree.tar'), '--directory', tree, '.');
    renameSync(join(draft, 'tree.tar'), tarball);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Builds go through whatever proxy this machine goes through. */
function trustWhomThisMachineTrusts(tree) {
  const own = '/usr/local/share/ca-certificates';
  if (!existsSync(own)) return;
  for (const file of readdirSync(own, { recursive: true }).filter((name) => name.endsWith('.crt'))) {
    copyFileSync(join(own, file), join(tree, own, basename(file)));
  }
}

/** The mirror that this machine has its own packages of the release from, if it is such a machine. */
function debianMirror() {
  const directory = '/etc/apt/sources.list.d';
  const files = [
    '/etc/apt/sources.list',
    ...(existsSync(directory) ? readdirSync(directory) : []).map((name) => join(directory, name)),
  ];
  for (const file of files.filter((path) => existsSync(path))) {
    for (const entry of readFileSync(file, 'utf8').split(/\n\s*\n|\n(?=deb )/)) {
      const [, url] = /^(?:URIs:|deb(?: \[.*\])?)\s+(http\S+)/m.exec(entry) ?? [];
      if (url !== undefined && new RegExp(`\\s${RELEASE}\\s`).test(entry)) return url;
    }
  }
  return undefined;
}

async function fetchNode(cache) {
  const advice = 'Check that the npm registry can be reached, then run the command again.';
  const platform = `linux-${process.arch}`;
  for (const [file, pack] of Object.entries({
    'node.tgz': `node-${platform}@${NODE_VERSION}`,
    'npm.tgz': `npm@${NPM_VERSION}`,
  })) {
    if (existsSync(join(cache, file))) continue;
    const packed = await runTool('npm', ['pack', '--silent', '--pack-destination', cache, pack], {
      cwd: cache,
      advice,
    });
    renameSync(join(cache, packed.trim().split('\n').at(-1)), join(cache, file));
  }
}
