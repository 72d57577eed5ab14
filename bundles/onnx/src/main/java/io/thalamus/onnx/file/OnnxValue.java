// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.file;

/**
 * The description of a value in a file.
 *
 * @param name of the value
 * @param type ONNX's number of the element type; 0 where the value is no tensor
 * @param dims the dimensions; -1 where one is open, and where the file names it another negative
 *     number that stands for the name; null where nothing is said of them
 */
public record OnnxValue(String name, int type, long[] dims) {}
