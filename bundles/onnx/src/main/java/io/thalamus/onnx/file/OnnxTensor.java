// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.file;

import java.lang.foreign.MemorySegment;

/**
 * A constant as a file has it: bytes, or numbers.
 *
 * @param name may be empty
 * @param type ONNX's number of the element type
 * @param dims the dimensions
 * @param raw the elements as bytes; empty where they stand in {@code numbers}
 * @param numbers integers, or the bits of real numbers
 */
public record OnnxTensor(String name, int type, long[] dims, MemorySegment raw, Numbers numbers) {}
