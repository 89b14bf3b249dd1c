import { ResponseError } from '@backstage/errors';
import axe from 'axe-core';

/** What a request rejects with, as the client has it. */
export function refusal(
  status: number,
  name: string,
  message: string,
  headers: Record<string, string> = {},
): Promise<ResponseError> {
  return ResponseError.fromResponse(
    new Response(
      JSON.stringify({
        error: { name, message },
        response: { statusCode: status },
      }),
      {
        status,
        headers: { 'Content-Type': 'application/json', ...headers },
      },
    ),
  );
}

/** What axe calls serious, other than colors, which need a browser. */
export async function seriousProblems() {
  const { violations } = await axe.run(
    // What React Aria says of a button is kept there for a moment after the button is gone.
    { include: [document.body], exclude: ['[data-live-announcer]'] },
    {
      rules: {
        'color-contrast': { enabled: false },
        region: { enabled: false },
      },
    },
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}
