/** What the specification expects, by what it is about (B, Migration phases). */
export const expectations: Record<string, string> = {
  'phase 1': 'about 5–10 min, no downtime',
  'phase 2': 'about 10–30 min, no downtime',
  'phase 3': 'about 1–2 h with the deployment, no downtime',
  'phase 4': 'about 5 min, no downtime',
  'phase 5': '30–60 min',
  swap: '5–10 min of downtime',
  rollback: 'a maintenance window of 10–15 min',
};
