// SPDX-License-Identifier: Apache-2.0
/**
 * A device to copy and to fill: two operations, complete in everything else. {@code
 * docs/devices.md} goes through it step by step. It is built and tested with the rest, and is not
 * part of the distribution.
 */
package io.thalamus.template;
