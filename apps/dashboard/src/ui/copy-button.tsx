import { useState } from 'react';
import { Button, IconButton } from './button.js';
import { toastFailure } from './toast-queue.js';

const SHOWN_MS = 1_800;

/** Copies the text to the clipboard, and shows that in place. */
function useCopy(text: string) {
  const [copied, setCopied] = useState(false);
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => {
        setCopied(true);
        setTimeout(() => {
          setCopied(false);
        }, SHOWN_MS);
      },
      (error: unknown) => {
        toastFailure('The browser does not allow copying', error);
      },
    );
  };
  return { copied, copy };
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
