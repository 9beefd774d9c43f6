import { useLayoutEffect, useRef, useState, type RefObject } from 'react';

/** Returns a ref for an element, and its present width; 0 before it is laid out. */
export function useWidth<E extends Element>(): [RefObject<E | null>, number] {
  const element = useRef<E>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measured = element.current;
    if (measured === null) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidth(Math.floor(entry.contentRect.width));
    });
    observer.observe(measured);
    return () => {
      observer.disconnect();
    };
  }, []);
  return [element, width];
}
