// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Small ONNX files for tests, written byte by byte. */
final class OnnxFileBuilder {
  static final int FLOAT = 1;
  static final int INT64 = 7;

  private final Message graph = new Message();
  private final List<Message> nodes = new ArrayList<>();
  private final List<Message> functions = new ArrayList<>();
  private int opset = 17;

  /** A protobuf message that grows. */
  static final class Message {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    private void varint(long value) {
      long rest = value;
      while ((rest & ~0x7FL) != 0) {
        bytes.write((int) (rest & 0x7F | 0x80));
        rest >>>= 7;
      }
      bytes.write((int) rest);
    }

    Message number(int field, long value) {
      varint(field << 3);
      varint(value);
      return this;
    }

    Message real(int field, float value) {
      varint(field << 3 | 5);
      bytes.writeBytes(little(4).putFloat(value).array());
      return this;
    }

    Message bytes(int field, byte[] value) {
      varint(field << 3 | 2);
      varint(value.length);
      bytes.writeBytes(value);
      return this;
    }

    Message text(int field, String value) {
      return bytes(field, value.getBytes(StandardCharsets.UTF_8));
    }

    Message message(int field, Message value) {
      return bytes(field, value.bytes.toByteArray());
    }

    byte[] toByteArray() {
      return bytes.toByteArray();
    }
  }

  private static ByteBuffer little(int size) {
    return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
  }

  OnnxFileBuilder opset(int version) {
    opset = version;
    return this;
  }

  private static Message value(String name, int type, long... dims) {
    Message shape = new Message();
    for (long size : dims) {
      Message dimension = new Message();
      shape.message(
          1,
          size == -1
              ? dimension
              : size < 0 ? dimension.text(2, "open" + size) : dimension.number(1, size));
    }
    Message tensor = new Message().number(1, type).message(2, shape);
    return new Message().text(1, name).message(2, new Message().message(1, tensor));
  }

  OnnxFileBuilder input(String name, int type, long... dims) {
    graph.message(11, value(name, type, dims));
    return this;
  }

  OnnxFileBuilder output(String name, int type, long... dims) {
    graph.message(12, value(name, type, dims));
    return this;
  }

  private static Message tensor(String name, int type, long... dims) {
    Message tensor = new Message();
    for (long size : dims) {
      tensor.number(1, size);
    }
    return tensor.number(2, type).text(8, name);
  }

  OnnxFileBuilder floats(String name, long[] dims, float... values) {
    ByteBuffer raw = little(4 * values.length);
    for (float value : values) {
      raw.putFloat(value);
    }
    graph.message(5, tensor(name, FLOAT, dims).bytes(9, raw.array()));
    return this;
  }

  /** Floats in another file. */
  OnnxFileBuilder outside(String name, long[] dims, String... entries) {
    Message tensor = tensor(name, FLOAT, dims).number(14, 1);
    for (int i = 0; i < entries.length; i += 2) {
      tensor.message(13, new Message().text(1, entries[i]).text(2, entries[i + 1]));
    }
    graph.message(5, tensor);
    return this;
  }

  OnnxFileBuilder bytes(String name, int type, long[] dims, int... values) {
    byte[] raw = new byte[values.length];
    for (int i = 0; i < raw.length; i++) {
      raw[i] = (byte) values[i];
    }
    graph.message(5, tensor(name, type, dims).bytes(9, raw));
    return this;
  }

  OnnxFileBuilder integers(String name, long[] dims, long... values) {
    Message tensor = tensor(name, INT64, dims);
    for (long value : values) {
      tensor.number(7, value);
    }
    graph.message(5, tensor);
    return this;
  }

  OnnxFileBuilder strings(String name, String... values) {
    Message tensor = tensor(name, 8, values.length);
    for (String value : values) {
      tensor.text(6, value);
    }
    graph.message(5, tensor);
    return this;
  }

  static Message ints(String name, long... values) {
    Message attribute = new Message().text(1, name).number(20, 7);
    for (long value : values) {
      attribute.number(8, value);
    }
    return attribute;
  }

  static Message integer(String name, long value) {
    return new Message().text(1, name).number(20, 2).number(3, value);
  }

  static Message real(String name, float value) {
    return new Message().text(1, name).number(20, 1).real(2, value);
  }

  static Message text(String name, String value) {
    return new Message().text(1, name).number(20, 3).text(4, value);
  }

  static Message reals(String name, float... values) {
    Message attribute = new Message().text(1, name).number(20, 6);
    for (float value : values) {
      attribute.real(7, value);
    }
    return attribute;
  }

  static Message texts(String name, String... values) {
    Message attribute = new Message().text(1, name).number(20, 8);
    for (String value : values) {
      attribute.text(9, value);
    }
    return attribute;
  }

  static Message subgraph(String name, OnnxFileBuilder graph) {
    return new Message().text(1, name).number(20, 5).message(6, graph.graph);
  }

  /** A setting that is a vector of floats. */
  static Message floats(String name, float... values) {
    ByteBuffer raw = little(4 * values.length);
    for (float value : values) {
      raw.putFloat(value);
    }
    Message tensor = tensor("", FLOAT, values.length).bytes(9, raw.array());
    return new Message().text(1, name).number(20, 4).message(5, tensor);
  }

  /** A setting that is a vector of bytes. */
  static Message bytes(String name, int type, int... values) {
    byte[] raw = new byte[values.length];
    for (int i = 0; i < raw.length; i++) {
      raw[i] = (byte) values[i];
    }
    Message tensor = tensor("", type, values.length).bytes(9, raw);
    return new Message().text(1, name).number(20, 4).message(5, tensor);
  }

  OnnxFileBuilder node(String type, List<String> inputs, String output, Message... attributes) {
    return node(type, inputs, List.of(output), attributes);
  }

  OnnxFileBuilder node(
      String type, List<String> inputs, List<String> outputs, Message... attributes) {
    Message node = new Message();
    inputs.forEach(input -> node.text(1, input));
    outputs.forEach(output -> node.text(2, output));
    int dot = type.lastIndexOf('.');
    node.text(3, "the " + type).text(4, type.substring(dot + 1));
    node.text(7, dot < 0 ? "" : type.substring(0, dot));
    for (Message attribute : attributes) {
      node.message(5, attribute);
    }
    graph.message(1, node);
    nodes.add(node);
    return this;
  }

  static Message reference(String name, String setting, int type) {
    return new Message().text(1, name).number(20, type).text(21, setting);
  }

  /** Defines an operator of the domain {@code own} by the nodes of another builder. */
  OnnxFileBuilder function(
      String name, List<String> inputs, List<String> outputs, OnnxFileBuilder body) {
    Message function = new Message().text(1, name);
    inputs.forEach(input -> function.text(4, input));
    outputs.forEach(output -> function.text(5, output));
    body.nodes.forEach(node -> function.message(7, node));
    functions.add(function.text(10, "own"));
    return this;
  }

  byte[] build() {
    Message model =
        new Message()
            .number(1, 8)
            .text(2, "a test")
            .message(7, graph)
            .message(8, new Message().text(1, "").number(2, opset));
    functions.forEach(function -> model.message(25, function));
    return model.toByteArray();
  }
}
