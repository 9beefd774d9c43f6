import { useState, type MouseEvent } from 'react';
import { Button, IconButton } from './button.js';
import { toastProblem } from './toast-queue.js';

const SHOWN_MS = 1_800;

/** Copies the text to the clipboard, and shows that in place. */
function useCopy(text: string) {
  const [copied, setCopied] = useState(false);
  const copy = ({ currentTarget: button }: MouseEvent<HTMLElement>) => {
    writeText(text).then(
      () => {
        setCopied(true);
        setTimeout(() => {
          setCopied(false);
        }, SHOWN_MS);
      },
      () => {
        selectShown(text, button);
        toastProblem('The browser does not allow copying', 'Select the text and copy it yourself.');
      },
    );
  };
  return { copied, copy };
}

/** Rejects where the browser allows no copying: over http, and in a frame without the permission. */
async function writeText(text: string): Promise<void> {
  // Browsers have no clipboard over http.
  const { clipboard } = navigator as Partial<Navigator>;
  if (clipboard === undefined) throw new Error('no clipboard');
  await clipboard.writeText(text);
}

/** Selects the text where it is shown closest to the button, if it is. */
function selectShown(text: string, button: HTMLElement): void {
  for (let place = button.parentElement; place !== null; place = place.parentElement) {
    const shown = [...place.querySelectorAll('code, pre')].find(({ textContent }) => textContent === text);
    if (shown === undefined) continue;
    getSelection()?.selectAllChildren(shown);
    return;
  }
}

interface CopyProps {
  readonly text: string;
  /** The name of the text to copy, in the label `Copy <what>`. */
  readonly what: string;
}

export function CopyButton({
  text,
  what,
  look = 'outline',
}: CopyProps & { readonly look?: 'outline' | 'solid' | 'ghost' }) {
  const { copied, copy } = useCopy(text);
  return (
    <Button look={look} icon={copied ? 'check' : 'copy'} onClick={copy}>
      <span aria-live="polite">{copied ? 'Copied' : `Copy ${what}`}</span>
    </Button>
  );
}

export function CopyIcon({ text, what }: CopyProps) {
  const { copied, copy } = useCopy(text);
  return <IconButton icon={copied ? 'check' : 'copy'} label={copied ? 'Copied' : `Copy ${what}`} onClick={copy} />;
}
