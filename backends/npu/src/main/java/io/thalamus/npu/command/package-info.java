// SPDX-License-Identifier: Apache-2.0
/**
 * The orders for the device: commands, their binary form, and the file that holds a compiled model.
 * {@link Opcode} names the words of each command; {@code docs/internals/npu.md} describes the
 * device.
 */
package io.thalamus.npu.command;
