// SPDX-License-Identifier: Apache-2.0
/**
 * Races under jcstress, for what works without a lock. The tests are in the packages of what they
 * test, as some of it is not public.
 */
package io.thalamus.jcstress;
