/** The token of somebody who signs in at a backend as a guest. */
export async function tokenOfGuest(url: string): Promise<string> {
  const response = await fetch(`${url}/api/auth/guest/refresh`);
  const { backstageIdentity } = await response.json();
  return backstageIdentity.token;
}
