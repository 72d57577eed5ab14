// SPDX-License-Identifier: Apache-2.0
/**
 * An assembler for x86-64: {@link io.thalamus.x86.asm.Assembler} turns typed instructions into
 * bytes. It knows what instructions are and nothing of what they are for. Each form is held against
 * a disassembler in a test.
 */
package io.thalamus.x86.asm;
