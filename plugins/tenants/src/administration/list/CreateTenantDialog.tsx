import { toError } from '@backstage/errors';
import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  Button,
  Dialog,
  DialogBody,
  DialogFooter,
  DialogHeader,
  Flex,
  NumberField,
  TextField,
} from '@backstage/ui';
import {
  Failure,
  messageOf,
  pagesTranslationRef,
  statusOf,
} from '@internal/pages';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';
import {
  DEFAULT_LIMITS,
  type Field,
  FIELDS,
  findProblems,
  readProblems,
  suggestSlug,
} from './newTenant';

/** Asks what a new tenant is to be, and creates it. It is inside a DialogTrigger. */
export function CreateTenantDialog(props: {
  onClose: () => void;
  onCreated: (slug: string) => void;
}) {
  const { onClose, onCreated } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  return (
    // A click beside it would lose what is typed.
    <Dialog
      isOpen
      isDismissable={false}
      onOpenChange={isOpen => isOpen || onClose()}
      width="min(560px, calc(100vw - 32px))"
      style={{ minWidth: 0 }}
    >
      <DialogHeader>{t('list.create.title')}</DialogHeader>
      <CreateTenantForm onCreated={onCreated} />
    </Dialog>
  );
}

function CreateTenantForm({
  onCreated,
}: {
  onCreated: (slug: string) => void;
}) {
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const { t: tPages } = useTranslationRef(pagesTranslationRef);
  const form = useRef<HTMLFormElement>(null);
  const [name, setName] = useState('');
  // Until it is typed, it follows the name.
  const [typedSlug, setTypedSlug] = useState<string>();
  const [maxEntities, setMaxEntities] = useState(DEFAULT_LIMITS.max_entities);
  const [ttlDays, setTtlDays] = useState(DEFAULT_LIMITS.entity_ttl_days);
  const [isTried, setTried] = useState(false);
  const [refused, setRefused] = useState<Partial<Record<Field, string>>>({});
  const [failure, setFailure] = useState<Error>();
  const [isPending, setPending] = useState(false);

  useEffect(() => form.current?.querySelector('input')?.focus(), []);

  const slug = typedSlug ?? suggestSlug(name);
  const found = findProblems({ tenant_name: name, tenant_slug: slug });
  const problems: Partial<Record<Field, string>> = { ...refused };
  if (isTried && found.tenant_name) {
    problems.tenant_name = t(`list.create.name.${found.tenant_name}`);
  }
  if (isTried && found.tenant_slug) {
    problems.tenant_slug = t(`list.create.slug.${found.tenant_slug}`, { slug });
  }

  function focusFirst(wrong: Partial<Record<Field, unknown>>) {
    const field = FIELDS.find(each => wrong[each]);
    form.current
      ?.querySelector<HTMLElement>(`[data-field="${field}"] input`)
      ?.focus();
  }

  async function submit(event: FormEvent) {
    event.preventDefault();
    setTried(true);
    setFailure(undefined);
    if (Object.keys(found).length > 0) {
      focusFirst(found);
      return;
    }
    setPending(true);
    setRefused({});
    try {
      await tenantsApi.createTenant({
        tenant_name: name,
        tenant_slug: slug,
        // An empty field is not a number: the backend's default holds.
        ...(Number.isFinite(maxEntities) && { max_entities: maxEntities }),
        ...(Number.isFinite(ttlDays) && { entity_ttl_days: ttlDays }),
      });
    } catch (thrown) {
      const error = toError(thrown);
      const named = readProblems(statusOf(error), messageOf(error));
      setPending(false);
      setRefused(named);
      setFailure(Object.keys(named).length > 0 ? undefined : error);
      focusFirst(named);
      return;
    }
    onCreated(slug);
  }

  /** Fields whose error is shown as soon as it is there. */
  const check = (field: Field) => ({
    validationBehavior: 'aria' as const,
    validate: () => problems[field] ?? null,
  });
  const forget = (field: Field) =>
    setRefused(({ [field]: _, ...others }) => others);

  return (
    <form ref={form} onSubmit={submit} noValidate>
      <DialogBody>
        <Flex direction="column" gap="4">
          <div data-field="tenant_name">
            <TextField
              label={t('list.create.name.label')}
              description={t('list.create.name.description')}
              isRequired
              value={name}
              onChange={value => {
                setName(value);
                forget('tenant_name');
                forget('tenant_slug');
              }}
              {...check('tenant_name')}
            />
          </div>
          <div data-field="tenant_slug">
            <TextField
              label={t('list.create.slug.label')}
              description={t('list.create.slug.description')}
              isRequired
              value={slug}
              onChange={value => {
                setTypedSlug(value);
                forget('tenant_slug');
              }}
              {...check('tenant_slug')}
            />
          </div>
          <div data-field="max_entities">
            <NumberField
              label={t('list.create.maxEntities.label')}
              description={t('list.create.maxEntities.description')}
              minValue={0}
              maxValue={2_147_483_647}
              value={maxEntities}
              onChange={value => {
                setMaxEntities(value);
                forget('max_entities');
              }}
              {...check('max_entities')}
            />
          </div>
          <div data-field="entity_ttl_days">
            <NumberField
              label={t('list.create.ttlDays.label')}
              description={t('list.create.ttlDays.description')}
              minValue={1}
              maxValue={2_147_483_647}
              value={ttlDays}
              onChange={value => {
                setTtlDays(value);
                forget('entity_ttl_days');
              }}
              {...check('entity_ttl_days')}
            />
          </div>
          {failure && (
            <Failure title={t('list.create.failed')} error={failure} />
          )}
        </Flex>
      </DialogBody>
      <DialogFooter>
        <Button variant="secondary" slot="close" isDisabled={isPending}>
          {tPages('cancel')}
        </Button>
        <Button type="submit" isPending={isPending}>
          {t('list.create.submit')}
        </Button>
      </DialogFooter>
    </form>
  );
}
