import { Dialog } from '@base-ui/react/dialog';
import { useState, type ReactNode } from 'react';
import { useSession } from '../session/use-session.js';
import { IconButton } from '../ui/button.js';
import { Brand } from './brand.js';
import { Navigation } from './navigation.js';
import { placesFor } from './places.js';
import { SearchBox } from './search-box.js';

/** The menu of small screens, open at first. */
export function Drawer({ account }: { readonly account: ReactNode }) {
  const [open, setOpen] = useState(true);
  const close = () => {
    setOpen(false);
  };
  return (
    <Dialog.Root open={open} onOpenChange={setOpen}>
      <Dialog.Trigger render={<IconButton icon="menu" label="Menu" />} />
      <Dialog.Portal>
        <Dialog.Backdrop className="dialog-backdrop" />
        <Dialog.Popup className="drawer">
          <div className="row-apart">
            <Dialog.Title className="visually-hidden">Menu</Dialog.Title>
            <Brand />
            <Dialog.Close render={<IconButton icon="cross" label="Close" />} />
          </div>
          <SearchBox onSearch={close} />
          <Navigation places={placesFor(useSession())} onNavigate={close} />
          {account}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
