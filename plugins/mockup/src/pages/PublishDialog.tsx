import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { usePermission } from '@backstage/plugin-permission-react';
import { Checkbox, Select, TextField } from '@backstage/ui';
import {
  ActionDialog,
  NOTHING_PICKED,
  type Picked,
  slugOf,
} from '@internal/pages';
import {
  MOCKUP_LIMITS,
  mockupPageHomePermission,
  type PageAudience,
  pagePathSchema,
  type PublishedPage,
} from 'backstage-plugin-mockup-common';
import { useState } from 'react';
import { mockupApiRef } from '../api';
import { isWithin, LimitedField } from '../components/LimitedField';
import { NAME } from '../list/DetailsDialog';
import { GroupPicker } from '../sharing/GroupPicker';
import { groupIn } from '../sharing/groups';
import { mockupTranslationRef } from '../translation';
import { isGroup, textOf } from './Audience';

const CHOICES = [
  'everybody',
  'group',
  'role:viewer',
  'role:member',
  'role:admin',
] as const;
type Choice = (typeof CHOICES)[number];

/** Asks where a version is to be shown, and to whom. */
export function PublishDialog(props: {
  mockup: { id: string; name: string };
  versionId: string;
  /** What the version is called. */
  versionTitle: string;
  /** The page that is changed, if there is one. */
  page?: PublishedPage;
  onPublished: (page: PublishedPage) => void;
  onClose: () => void;
}) {
  const { mockup, versionId, versionTitle, page, onPublished, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const [path, setPath] = useState(
    page?.path ?? slugOf(mockup.name, MOCKUP_LIMITS.pagePath),
  );
  const [title, setTitle] = useState(page?.title ?? mockup.name);
  const [isHome, setHome] = useState(page?.publication?.home ?? false);
  const [isTemplate, setTemplate] = useState(page?.template ?? false);
  const [isAsked, setAsked] = useState(false);
  const { allowed: mayChooseHome } = usePermission({
    permission: mockupPageHomePermission,
  });
  const audience = useAudience(page?.publication?.audience);

  const isPath = pagePathSchema.safeParse(path).success;

  return (
    <ActionDialog
      title={t('pages.publish.title', { title: versionTitle })}
      texts={[t('pages.publish.text')]}
      submit={t('pages.publish.submit')}
      failed={t('pages.publish.failed')}
      onClose={onClose}
      onSubmit={async () => {
        setAsked(true);
        const chosen = audience.read();
        if (!isPath || !isWithin(title, NAME) || !chosen) {
          return false;
        }
        onPublished(
          await api.publishPage(path, {
            mockupId: mockup.id,
            versionId,
            audience: chosen,
            title,
            home: isHome,
            template: isTemplate,
          }),
        );
        return true;
      }}
    >
      <TextField
        label={t('pages.publish.path')}
        description={t('pages.publish.pathHelp', { path })}
        value={path}
        onChange={setPath}
        isRequired
        autoComplete="off"
        validationBehavior="aria"
        validate={() =>
          isAsked && !isPath
            ? t('pages.publish.pathWrong', {
                most: String(MOCKUP_LIMITS.pagePath),
              })
            : null
        }
      />
      <LimitedField
        {...NAME}
        label={t('pages.publish.name')}
        value={title}
        onChange={setTitle}
        isTried={isAsked}
      />
      <Select
        label={t('pages.audience.label')}
        options={CHOICES.map(id => ({
          id,
          label: t(`pages.audience.${id === 'group' ? id : textOf(id)}`),
        }))}
        value={audience.choice}
        onChange={next => audience.choose(next as Choice)}
      />
      {audience.choice === 'group' && (
        <GroupPicker
          value={audience.group}
          onChange={audience.pick}
          onSubmit={() => {}}
          problem={audience.problem}
        />
      )}
      {(mayChooseHome || page?.publication?.home) && (
        <Checkbox isSelected={isHome} onChange={setHome}>
          {t('pages.publish.home')}
        </Checkbox>
      )}
      <Checkbox isSelected={isTemplate} onChange={setTemplate}>
        {t('pages.publish.template')}
      </Checkbox>
    </ActionDialog>
  );
}

/** What is chosen of everybody, the groups and the roles. */
function useAudience(now: PageAudience = 'everybody') {
  const { t } = useTranslationRef(mockupTranslationRef);
  const [choice, setChoice] = useState<Choice>(isGroup(now) ? 'group' : now);
  const [group, setGroup] = useState<Picked>(
    isGroup(now) ? { id: now, text: now } : NOTHING_PICKED,
  );
  const [problem, setProblem] = useState<string>();
  return {
    choice,
    choose: setChoice,
    group,
    pick(next: Picked) {
      setGroup(next);
      setProblem(undefined);
    },
    problem,
    /** The audience; nothing where the field of the group has to be corrected first. */
    read(): PageAudience | undefined {
      if (choice !== 'group') {
        return choice;
      }
      const parsed = groupIn(group);
      if ('problem' in parsed) {
        const text = group.text.trim();
        setProblem(t(`sharing.add.${parsed.problem}`, { text }));
        return undefined;
      }
      return parsed.group as PageAudience;
    },
  };
}
