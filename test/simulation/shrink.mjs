import { simulate } from './simulate.mjs'

/** The least part of a plan's actions with which something is still wrong, and its trace. */
export async function shrink(plan) {
  let least = { plan, ...(await simulate(plan)) }
  for (
    let size = Math.ceil(plan.actions.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let from = 0; from < least.plan.actions.length;) {
      const actions = least.plan.actions.filter((_, index) => index < from || index >= from + size)
      const smaller = { ...least.plan, actions }
      const ran = await simulate(smaller)
      if (ran.faults.length > 0) least = { plan: smaller, ...ran }
      else from += size
    }
  }
  return least
}
