import {
  useId,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'react';
import { Icon } from './icon.js';
import './field.css';

interface FieldProps {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  /** Whether only screen readers get the label, because the place explains the field to people who see it. */
  readonly labelHidden?: boolean;
}

/**
 * Moves the focus to the first invalid control of a form, or to the notice that says why it failed, once they are drawn.
 * Both may be far from the button that was pressed.
 */
export function focusFirstError(form: HTMLElement | null): void {
  requestAnimationFrame(() => {
    const place = form?.querySelector<HTMLElement>('[aria-invalid="true"], [data-failure]');
    place?.scrollIntoView({ block: 'center' });
    place?.focus({ preventScroll: true });
  });
}

/** Connects a control with its label, its hint and its error. */
function useField({ hint, error }: FieldProps) {
  const id = useId();
  const describedBy = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`]
    .filter(Boolean)
    .join(' ');
  return {
    id,
    control: {
      id,
      'aria-invalid': error !== undefined,
      'aria-describedby': describedBy === '' ? undefined : describedBy,
    },
  };
}

function FieldFrame({
  id,
  label,
  hint,
  error,
  labelHidden,
  children,
}: FieldProps & { id: string; children: ReactNode }) {
  return (
    <div className="field">
      <label htmlFor={id} className={labelHidden === true ? 'visually-hidden' : 'field-label'}>
        {label}
      </label>
      {children}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="field-hint">
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} className="field-error">
          <Icon name="warning" size={14} /> {error}
        </p>
      )}
    </div>
  );
}

export function TextField({
  label,
  hint,
  error,
  labelHidden,
  className,
  ...input
}: FieldProps & InputHTMLAttributes<HTMLInputElement>) {
  const { id, control } = useField({ label, hint, error });
  return (
    <FieldFrame {...{ id, label, hint, error, labelHidden }}>
      <input type="text" {...input} {...control} className={`input ${className ?? ''}`} />
    </FieldFrame>
  );
}

export function TextArea({
  label,
  hint,
  error,
  labelHidden,
  className,
  ...input
}: FieldProps & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  const { id, control } = useField({ label, hint, error });
  return (
    <FieldFrame {...{ id, label, hint, error, labelHidden }}>
      <textarea {...input} {...control} className={`input ${className ?? ''}`} />
    </FieldFrame>
  );
}

export function SelectField({
  label,
  hint,
  error,
  labelHidden,
  children,
  ...select
}: FieldProps & SelectHTMLAttributes<HTMLSelectElement>) {
  const { id, control } = useField({ label, hint, error });
  return (
    <FieldFrame {...{ id, label, hint, error, labelHidden }}>
      <span className="select">
        <select {...select} {...control} className="input">
          {children}
        </select>
        <Icon name="down" size={14} />
      </span>
    </FieldFrame>
  );
}

interface CheckboxProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'type' | 'children'> {
  readonly children: ReactNode;
  readonly hint?: ReactNode;
  /** Whether only some of the boxes that it represents are checked. */
  readonly indeterminate?: boolean;
}

export function Checkbox({ children, hint, indeterminate = false, ...input }: CheckboxProps) {
  return (
    <label className="choice">
      <input
        type="checkbox"
        {...input}
        ref={(element) => {
          if (element !== null) element.indeterminate = indeterminate;
        }}
      />
      <span>
        {children}
        {hint !== undefined && <span className="choice-hint">{hint}</span>}
      </span>
    </label>
  );
}

export function Radio({ children, hint, ...input }: Omit<CheckboxProps, 'indeterminate'>) {
  return (
    <label className="choice">
      <input type="radio" {...input} />
      <span>
        {children}
        {hint !== undefined && <span className="choice-hint">{hint}</span>}
      </span>
    </label>
  );
}
