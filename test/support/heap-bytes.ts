import { Session, type HeapProfiler } from 'node:inspector/promises';
import { NODE } from '../bench/flame/code-owner.js';
import { OwnedBytes, ownerBesideTest } from './owned-bytes.js';

const ALLOCATED = 'bytes of heap';
/** One object is looked at for about as many bytes: a hundredth of what an event takes. */
const SAMPLING_BYTES = 8_192;

/** An option that the types lack: without it, only objects that are alive in the end would be counted. */
interface StartSampling extends HeapProfiler.StartSamplingParameterType {
  readonly includeObjectsCollectedByMajorGC: boolean;
  readonly includeObjectsCollectedByMinorGC: boolean;
}

/**
 * How many bytes of the engine's heap this thread allocates meanwhile, whether or not they are free again by then, and on
 * whose behalf: an estimate of samples, with an error of a few percent for who allocates a megabyte. The bytes that buffers hold are
 * not on that heap. One at a time, and not while buffers are watched, which allocates a lot by itself.
 */
export async function heapBytesDuring(act: () => Promise<unknown>): Promise<OwnedBytes> {
  const bytes = new OwnedBytes();
  const session = new Session();
  session.connect();
  try {
    const parameters: StartSampling = {
      samplingInterval: SAMPLING_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    };
    await session.post('HeapProfiler.startSampling', parameters);
    await act();
    const { profile } = await session.post('HeapProfiler.stopSampling');
    addTo(bytes, profile.head, NODE);
  } finally {
    session.disconnect();
  }
  return bytes;
}

function addTo(bytes: OwnedBytes, node: HeapProfiler.SamplingHeapProfileNode, caller: string): void {
  const owner = ownerBesideTest(node.callFrame, caller);
  bytes.add(owner, ALLOCATED, node.selfSize);
  for (const child of node.children) addTo(bytes, child, owner);
}
