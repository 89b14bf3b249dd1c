import { createConditionExports } from '@backstage/plugin-permission-node';
import { isOwner } from './isOwner';
import { isSharedWith } from './isSharedWith';
import { mockupPermissionResourceRef } from './resource';

export { mockupPermissionResourceRef };

/**
 * The rules that a permission policy can apply to mockups.
 *
 * @public
 */
export const mockupPermissionRules = { isOwner, isSharedWith };

const conditionExports = createConditionExports({
  resourceRef: mockupPermissionResourceRef,
  rules: mockupPermissionRules,
});

/**
 * Conditions for a permission policy, one for each rule:
 * `mockupConditions.isOwner({ claims })`.
 *
 * @public
 */
export const mockupConditions = conditionExports.conditions;

/**
 * Makes the decision of a permission policy out of {@link mockupConditions}.
 *
 * @public
 */
export const createMockupConditionalDecision =
  conditionExports.createConditionalDecision;
