import { useId } from 'react';
import './segments.css';

interface SegmentsProps<T extends string | number> {
  readonly label: string;
  readonly options: readonly { readonly value: T; readonly text: string }[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

/** A choice of a few options that are all visible: radio buttons in a row. */
export function Segments<T extends string | number>({ label, options, value, onChange }: SegmentsProps<T>) {
  const name = useId();
  return (
    <fieldset className="segments">
      <legend className="visually-hidden">{label}</legend>
      {options.map((option) => (
        <label key={option.value} className="segment">
          <input
            type="radio"
            name={name}
            checked={option.value === value}
            onChange={() => {
              onChange(option.value);
            }}
          />
          <span>{option.text}</span>
        </label>
      ))}
    </fieldset>
  );
}
