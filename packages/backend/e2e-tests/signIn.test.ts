// People who sign in by the OpenID providers of their tenants, in a browser.

import { shareOnePortal } from './harness/inBrowser';
import { TENANT_SIGN_IN, testTenantSignIn } from './tests/tenantSignIn';

shareOnePortal(TENANT_SIGN_IN);

testTenantSignIn();
