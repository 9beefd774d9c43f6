import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Seq } from '#libs/domain';
import { HeadWatch, OrgHead } from './head-watch.js';

const [FIVE, SIX, NINE] = [5 as Seq, 6 as Seq, 9 as Seq];

let head: OrgHead;
let hearsAll: boolean;

beforeEach(() => {
  head = new OrgHead();
  hearsAll = true;
});

function watchAfter(after: Seq): HeadWatch {
  const watch: HeadWatch = new HeadWatch(
    after,
    head,
    () => hearsAll,
    () => head.watches.delete(watch),
  );
  head.watches.add(watch);
  return watch;
}

/** Reads as a reader does. @param meanwhile happens while the read is under way */
function read(watch: HeadWatch, headSeq: Seq, meanwhile: () => void = () => undefined): void {
  watch.reset();
  meanwhile();
  watch.seen(headSeq, headSeq);
}

describe('whether a reader is at the head', () => {
  it('is not known before anybody has read', () => {
    expect(watchAfter(FIVE).isAtHead).toBe(false);
    head.moved(FIVE);
    expect(watchAfter(FIVE).isAtHead).toBe(true);
  });

  it('is known from a read of another reader', () => {
    const other = watchAfter(FIVE);
    read(other, FIVE);
    other.close();
    expect(watchAfter(FIVE).isAtHead).toBe(true);
    expect(watchAfter(NINE).isAtHead).toBe(true);
    expect(watchAfter(4 as Seq).isAtHead).toBe(false);
  });

  it('is known from a notification that came while nobody waited', () => {
    const other = watchAfter(FIVE);
    read(other, FIVE);
    other.close();
    head.moved(SIX);
    expect(watchAfter(FIVE).isAtHead).toBe(false);
    expect(watchAfter(SIX).isAtHead).toBe(true);
  });

  it('ends with any read that finds more', () => {
    head.raise(NINE);
    expect(watchAfter(NINE).isAtHead).toBe(false);
    read(watchAfter(FIVE), FIVE);
    head.raise(SIX);
    expect(watchAfter(FIVE).isAtHead).toBe(false);
    expect(watchAfter(SIX).isAtHead).toBe(true);
  });

  it('does not go back with a read that began before a notification', () => {
    const watch = watchAfter(NINE);
    read(watch, FIVE, () => {
      head.moved(SIX);
    });
    expect(watchAfter(FIVE).isAtHead).toBe(false);
  });

  it('is not known after a gap, and not from a read that began before it', () => {
    const watch = watchAfter(FIVE);
    read(watch, FIVE);
    head.moved(null);
    expect(watch.isAtHead).toBe(false);
    read(watch, FIVE, () => {
      head.moved(null);
    });
    expect(watch.isAtHead).toBe(false);
    read(watch, FIVE);
    expect(watch.isAtHead).toBe(true);
  });

  it('is not known from a read of a reader that has left', () => {
    const watch = watchAfter(FIVE);
    read(watch, FIVE, () => {
      watch.close();
    });
    expect(watchAfter(FIVE).isAtHead).toBe(false);
  });

  it('is not known while notifications may be missed, nor from what was read then', () => {
    const watch = watchAfter(FIVE);
    read(watch, FIVE);
    hearsAll = false;
    expect(watch.isAtHead).toBe(false);
    const late = new OrgHead();
    head = late;
    read(watchAfter(FIVE), FIVE);
    hearsAll = true;
    expect(watchAfter(FIVE).isAtHead).toBe(false);
  });
});
