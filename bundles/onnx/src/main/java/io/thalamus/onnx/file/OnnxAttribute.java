// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.file;

import java.util.List;

/**
 * A setting of a node; ONNX's types share one message, in which those that are not meant are empty.
 *
 * @param name of the setting
 * @param f a real number
 * @param i an integer
 * @param s a text
 * @param tensor a constant, or null
 * @param graph a graph, or null
 * @param floats the bits of real numbers
 * @param ints integers
 * @param strings texts
 * @param ref the setting of the function around that this one is; empty where it is its own
 */
public record OnnxAttribute(
    String name,
    float f,
    long i,
    String s,
    OnnxTensor tensor,
    OnnxGraph graph,
    Numbers floats,
    Numbers ints,
    List<String> strings,
    String ref) {}
