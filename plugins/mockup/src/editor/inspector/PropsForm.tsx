import { useTranslationRef } from '@backstage/frontend-plugin-api';
import type { JsonObject } from '@backstage/types';
import { Button, ButtonIcon } from '@backstage/ui';
import {
  RiAddLine,
  RiArrowDownLine,
  RiArrowUpLine,
  RiDeleteBinLine,
  RiFileCopyLine,
} from '@remixicon/react';
import { keepFocus } from '@internal/pages';
import Form from '@rjsf/core';
import type {
  ArrayFieldItemTemplateProps,
  IconButtonProps,
  TemplatesType,
  UiSchema,
} from '@rjsf/utils';
import validator from '@rjsf/validator-ajv8';

import { memo, type ReactElement, useMemo } from 'react';
import { mockupTranslationRef } from '../../translation';
import styles from '../editor.module.css';

const UI: UiSchema = { 'ui:submitButtonOptions': { norender: true } };

/** The form takes clicks, and looks at nothing of them. */
function press({ onClick }: IconButtonProps) {
  (onClick as (() => void) | undefined)?.();
}

function AddButton(button: IconButtonProps) {
  const { t } = useTranslationRef(mockupTranslationRef);
  return (
    <Button
      size="small"
      variant="secondary"
      iconStart={<RiAddLine />}
      isDisabled={button.disabled}
      onPress={event => {
        press(button);
        // Where the list is full it goes.
        keepFocus(event);
      }}
    >
      {t('editor.inspector.add')}
    </Button>
  );
}

/** A button of an entry. */
function buttonOf(
  icon: ReactElement,
  name: 'copyEntry' | 'moveUp' | 'moveDown' | 'removeEntry',
) {
  return function FormButton(button: IconButtonProps) {
    const { t } = useTranslationRef(mockupTranslationRef);
    return (
      <ButtonIcon
        id={button.id}
        size="small"
        variant="tertiary"
        icon={icon}
        aria-label={t(`editor.inspector.${name}`)}
        isDisabled={button.disabled}
        onPress={event => {
          press(button);
          keepFocus(event);
        }}
      />
    );
  };
}

function ArrayFieldItemTemplate(props: ArrayFieldItemTemplateProps) {
  const { children, buttonsProps, hasToolbar, registry } = props;
  const { ArrayFieldItemButtonsTemplate: Buttons } = registry.templates;
  return (
    <div className={styles.entry}>
      {children}
      {hasToolbar && (
        <div className={styles.entryButtons}>
          <Buttons {...buttonsProps} />
        </div>
      )}
    </div>
  );
}

const TEMPLATES: Partial<Omit<TemplatesType, 'ButtonTemplates'>> & {
  ButtonTemplates: Partial<TemplatesType['ButtonTemplates']>;
} = {
  ArrayFieldItemTemplate,
  ButtonTemplates: {
    AddButton,
    CopyButton: buttonOf(<RiFileCopyLine />, 'copyEntry'),
    MoveUpButton: buttonOf(<RiArrowUpLine />, 'moveUp'),
    MoveDownButton: buttonOf(<RiArrowDownLine />, 'moveDown'),
    RemoveButton: buttonOf(<RiDeleteBinLine />, 'removeEntry'),
  },
};

/** A text of several lines is a string whose schema says that it is a text. */
function uiOf({ properties }: JsonObject): UiSchema {
  const fields = Object.entries((properties ?? {}) as JsonObject);
  return Object.fromEntries([
    ...Object.entries(UI),
    ...fields
      .filter(
        ([, field]) => (field as JsonObject).contentMediaType === 'text/plain',
      )
      .map(([name]) => [name, { 'ui:widget': 'textarea' }]),
  ]);
}

/** A form for the properties of a component, from the schema that the component has for them. */
function PropsForm(props: {
  /** Of the item. */
  id: string;
  schema: JsonObject;
  value: Record<string, unknown>;
  isReadOnly: boolean;
  onChange: (value: Record<string, unknown>) => void;
}) {
  const { id, schema, value, isReadOnly, onChange } = props;
  const ui = useMemo(() => uiOf(schema), [schema]);
  return (
    <Form
      className={styles.form}
      idPrefix={`props-${id}`}
      // What is saved at once needs no button, and is no form that is sent.
      tagName="div"
      uiSchema={ui}
      templates={TEMPLATES}
      schema={schema}
      validator={validator}
      formData={value}
      readonly={isReadOnly}
      liveValidate
      showErrorList={false}
      noHtml5Validate
      onChange={({ formData }, field) => {
        // Without a field it is the form itself, which has filled in a default.
        if (field !== undefined) {
          onChange(formData);
        }
      }}
    />
  );
}

/** Drawn again only where the properties change: its validation takes time. */
export default memo(PropsForm);
