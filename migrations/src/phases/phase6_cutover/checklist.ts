import { escapeIdentifier } from '../../sql';
import { checklistItems } from './checklistItems';
import type { ChecklistItem } from './checklistItems';
import { operatorCommand } from '../../operatorCommand';

// What Markdown has below "1. ".
const TEXT_INDENT = ' '.repeat(3);
const CODE_INDENT = ' '.repeat(7);

const LINE_LENGTH = 80;

const TITLE = `After the cutover: what to watch
================================

Run the queries as a superuser or as the login that runs the migration, in the
latter case with "set role portal_admin" for those that read entities.
pg_stat_activity shows the sessions of others only to members of pg_monitor.
Begin with:
`;

const GOING_BACK = [
  'Multi-tenancy alone: set MULTI_TENANCY_ENABLED to false and restart every ' +
    'instance of the application. Every request gets the default tenant; the tables ' +
    'and the data of other tenants stay as they are. When it is on again, run ' +
    `"${operatorCommand('phase6', '--base-url <url>')}" again.`,
  'The tables too, until the cleanup: set MULTI_TENANCY_ENABLED to false, restart ' +
    'every instance of the application, and only then run ' +
    `"${operatorCommand(
      'rollback',
    )}". It refuses while an instance is connected ` +
    'that works with the tables. No write of the default tenant is lost. Rows of ' +
    'other tenants stay in the archive, and the command says how many. (With ' +
    '"--to 4" it would drop the archive, and refuses to while that holds such rows.)',
  'After the cleanup: only from a backup.',
];

/**
 * What to watch after the cutover, for how long, and how to go back: readable in a
 * terminal, and also as Markdown.
 */
export function cutoverChecklist({ schema }: { schema: string }): string {
  const settings = [
    `set search_path = ${escapeIdentifier(schema)}`,
    'set row_security = off',
  ];
  return [
    TITLE,
    `${settings.map(setting => `    ${setting};`).join('\n')}\n`,
    ...checklistItems.map(renderItem),
    'Going back\n----------\n',
    ...GOING_BACK.map(renderBullet),
    '',
  ].join('\n');
}

function renderItem(item: ChecklistItem, index: number): string {
  const { title, when, text, shell, sql } = item;
  const code = shell ?? `${sql};`;
  return [
    `${index + 1}. ${title}`,
    '',
    ...[`When: ${when}.`, ...text].flatMap(paragraph => [
      ...wrap(paragraph).map(line => TEXT_INDENT + line),
      '',
    ]),
    ...code.split('\n').map(line => CODE_INDENT + line),
    '',
  ].join('\n');
}

function renderBullet(text: string): string {
  return `- ${wrap(text).join('\n  ')}`;
}

// What is quoted may be a command, to be copied from one line.
const WORDS = /\S*"[^"]*"\S*|\S+/g;

function wrap(text: string): string[] {
  const lines: string[] = [''];
  for (const word of text.match(WORDS) ?? []) {
    const line = `${lines[lines.length - 1]} ${word}`.trim();
    if (TEXT_INDENT.length + line.length > LINE_LENGTH) {
      lines.push(word);
    } else {
      lines[lines.length - 1] = line;
    }
  }
  return lines;
}
