import { useNavigate } from '@tanstack/react-router';
import { useState, type SyntheticEvent } from 'react';
import { IconButton } from '../ui/button.js';
import '../ui/field.css';
import './search-box.css';

interface SearchBoxProps {
  /** Distinguishes this box from another one on the page, for screen readers. */
  readonly label?: string;
  readonly onSearch?: () => void;
}

/** Finds what an id, a seq or part of a name names, from every page. */
export function SearchBox({ label = 'Everything', onSearch }: SearchBoxProps) {
  const [text, setText] = useState('');
  const navigate = useNavigate();
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    const q = text.trim();
    if (q === '') return;
    setText('');
    onSearch?.();
    void navigate({ to: '/find', search: { q } });
  };
  return (
    <form role="search" aria-label={label} className="search-box" onSubmit={submit}>
      <input
        type="search"
        className="input"
        aria-label="Find by id, seq or name"
        placeholder="Id, #seq or name"
        spellCheck={false}
        autoComplete="off"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
        }}
      />
      <IconButton type="submit" icon="search" label="Find" />
    </form>
  );
}
