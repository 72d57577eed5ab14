// SPDX-License-Identifier: Apache-2.0
/** Compilation caching: what AOSP's vendor tests ask of a device, and its security. */
package io.thalamus.tck.caching;
