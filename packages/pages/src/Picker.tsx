import {
  Combobox,
  type ComboboxProps,
  type IdentifiedOption,
  Text,
  VisuallyHidden,
} from '@backstage/ui';
import { useState } from 'react';

/** What the user has picked or typed. */
export interface Picked {
  /** What the field shows. */
  text: string;
  /** The id of what was picked; there is nothing to search for then. */
  id?: string;
}

export const NOTHING_PICKED: Picked = { text: '' };

// No id has a NUL character in it.
const AS_TYPED = '\0typed';
const NOTE = '\0note';

/** A field that finds what is typed, or takes it as it is. */
export function Picker(props: {
  label: string;
  description: string;
  placeholder?: string;
  value: Picked;
  onChange: (value: Picked) => void;
  /** What is wrong with the value. */
  error?: string;
  isDisabled?: boolean;
  menuTrigger?: ComboboxProps['menuTrigger'];
  /** What was found, each with what the field shows of it. */
  options: (IdentifiedOption & { text: string })[];
  isSearching: boolean;
  /** What takes the text as it is, after what was found. */
  asTyped?: Picked & { id: string; label: string };
  /** Below what was found. */
  note?: string;
  /** What was found, for those who do not see it. */
  found?: string;
  /** Why nothing can be found. */
  problem?: string;
  onOpenChange: (isOpen: boolean) => void;
}) {
  const { label, description, placeholder, value, onChange, error } = props;
  const { options, isSearching, asTyped, note, found, problem } = props;
  const [isOpen, setOpen] = useState(false);

  const pick = (picked: unknown) => {
    const { text, id } =
      picked === AS_TYPED
        ? asTyped ?? NOTHING_PICKED
        : options.find(option => option.id === picked) ?? NOTHING_PICKED;
    if (id !== undefined) {
      onChange({ text, id });
    }
  };
  const offered: IdentifiedOption[] =
    value.id !== undefined
      ? // The list has to have what is picked, or the field gives it up.
        [{ id: value.id, label: value.text }]
      : [
          ...options.map(({ text: _, ...option }) => option),
          ...(note ? [{ id: NOTE, label: note, disabled: true }] : []),
          ...(asTyped ? [{ id: AS_TYPED, label: asTyped.label }] : []),
        ];
  return (
    <>
      <Combobox
        label={label}
        description={description}
        placeholder={placeholder}
        size="medium"
        options={offered}
        search={{
          mode: 'server',
          inputValue: value.text,
          onInputChange: text => onChange({ text }),
        }}
        loading={{ state: isSearching ? 'filtering' : 'idle' }}
        value={value.id ?? null}
        onChange={pick}
        onOpenChange={opened => {
          setOpen(opened);
          props.onOpenChange(opened);
        }}
        menuTrigger={props.menuTrigger}
        allowsCustomValue
        isDisabled={props.isDisabled}
        validationBehavior="aria"
        validate={() => error ?? null}
      />
      <div role="status">
        {problem && (
          <Text as="p" variant="body-small" color="warning">
            {problem}
          </Text>
        )}
        {isOpen && found && <VisuallyHidden>{found}</VisuallyHidden>}
      </div>
    </>
  );
}
