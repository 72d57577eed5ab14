// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

/**
 * Code of the form {@code f(memory, constants, o0, o1, o2, blocks)} by the calling convention of
 * System V, and what it accesses.
 *
 * @param entry offset of the first instruction
 * @param read behind memory + o0
 * @param written behind memory + o1
 * @param other behind o2, added to constants or to memory as {@code isConstant} says
 * @param isConstant whether o2 is an offset into the constants
 */
public record Function(int entry, Extent read, Extent written, Extent other, boolean isConstant) {}
