/** Whether the work ends within that time. If not, it continues. @param work never rejects */
export function endsWithin(work: Promise<void>, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      resolve(false);
    }, timeoutMs);
    void work.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
