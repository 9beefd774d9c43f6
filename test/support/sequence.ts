/** 1 … `length`, as the seqs of an org have to be. */
export function oneTo(length: number): readonly number[] {
  return Array.from({ length }, (_, index) => index + 1);
}

/** The same draws each time: a test that fails can be repeated. */
export function drawsFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    // The linear congruential generator of Numerical Recipes; its high bits are good enough to shuffle with.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export function shuffled<T>(items: readonly T[], draw: (below: number) => number): readonly T[] {
  const copy = [...items];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = draw(i + 1);
    [copy[i], copy[j]] = [copy[j]!, copy[i]!];
  }
  return copy;
}
