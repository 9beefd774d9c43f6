import { ButtonLink } from '../ui/button.js';
import { PageHeader } from '../ui/page-header.js';

export function MissingPage() {
  return (
    <>
      <PageHeader
        title="There is no such page"
        note="The address may be mistyped, or what it led to was deleted."
        actions={<ButtonLink to="/">To the first page</ButtonLink>}
      />
    </>
  );
}
