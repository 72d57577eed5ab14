// SPDX-License-Identifier: Apache-2.0
/**
 * The orders for the device: commands, their binary form, and the file that holds a compiled model.
 * {@code docs/internals/npu.md} is the description for people; the field names here are those used
 * there.
 */
package io.thalamus.npu.command;
