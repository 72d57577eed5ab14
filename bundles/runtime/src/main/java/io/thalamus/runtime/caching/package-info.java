// SPDX-License-Identifier: Apache-2.0
/** Compilation caching: tokens of steps, the files that devices store them in, and their locks. */
package io.thalamus.runtime.caching;
