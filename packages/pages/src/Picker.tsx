import {
  Combobox,
  type ComboboxProps,
  type IdentifiedOption,
  Text,
  VisuallyHidden,
} from '@backstage/ui';
import { useRef, useState } from 'react';
import styles from './Picker.module.css';
import { useSearch } from './useSearch';

/** What the user has picked or typed. */
export interface Picked {
  /** What the field shows. */
  text: string;
  /** The id of what was picked; there is nothing to search for then. */
  id?: string;
}

export const NOTHING_PICKED: Picked = { text: '' };

/** What was found first, each with what the field shows of it; or why nothing can be. */
export type Found =
  | { options: (IdentifiedOption & { text: string })[]; totalItems: number }
  | { problem: string };

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
  menuTrigger?: ComboboxProps['menuTrigger'];
  /** Finds a text; never rejects. Another function searches again. */
  find: (text: string) => Promise<Found>;
  /** What takes a text as it is, after what was found; nothing where that can't be. */
  asTyped: (text: string) => (Required<Picked> & { label: string }) | undefined;
  texts: {
    nothing: string;
    /** Where more was found than is shown. */
    more: (numbers: { shown: string; total: string }) => string;
    /** For those who do not see the list. */
    found: (count: number) => string;
  };
}) {
  const { label, description, placeholder, value, onChange, error } = props;
  const { find, texts } = props;
  const [isOpen, setOpen] = useState(false);
  const typed = value.text.trim();
  const search = useSearch(
    find,
    isOpen && value.id === undefined ? typed : undefined,
  );
  const answer = search.state === 'done' ? search.answer : undefined;
  const found = answer && 'options' in answer ? answer : undefined;
  // It is not said again with each letter that is typed.
  const problem = useRef<string>();
  if (answer) {
    problem.current = 'problem' in answer ? answer.problem : undefined;
  }

  const options = found?.options ?? [];
  const taken = search.state === 'idle' ? undefined : props.asTyped(typed);
  const asTyped = options.some(({ id }) => id === taken?.id)
    ? undefined
    : taken;
  const noteOf = ({ totalItems }: NonNullable<typeof found>) => {
    if (options.length === 0) {
      return texts.nothing;
    }
    return options.length < totalItems
      ? texts.more({
          shown: String(options.length),
          total: String(totalItems),
        })
      : undefined;
  };
  const note = found && noteOf(found);

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
        className={styles.picker}
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
        loading={{
          state: search.state === 'searching' ? 'filtering' : 'idle',
        }}
        value={value.id ?? null}
        onChange={pick}
        onOpenChange={setOpen}
        menuTrigger={props.menuTrigger}
        allowsCustomValue
        validationBehavior="aria"
        validate={() => error ?? null}
      />
      <div role="status">
        {problem.current && (
          <Text as="p" variant="body-small" color="warning">
            {problem.current}
          </Text>
        )}
        {isOpen && found && (
          <VisuallyHidden>{texts.found(options.length)}</VisuallyHidden>
        )}
      </div>
    </>
  );
}
