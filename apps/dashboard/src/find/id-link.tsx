import { Link } from '@tanstack/react-router';
import { foundName } from './found-name.js';

/** An id that leads to what it names, if pages show that; any other text as it is. */
export function IdLink({ id }: { readonly id: string }) {
  const name = foundName(id);
  return 'id' in name && name.id === id ? (
    <Link to="/find" search={{ q: id }}>
      <span className="mono">{id}</span>
    </Link>
  ) : (
    <bdi>{id}</bdi>
  );
}
