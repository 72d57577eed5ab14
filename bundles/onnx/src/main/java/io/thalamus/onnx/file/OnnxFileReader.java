// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.file;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads ONNX's messages. The numbers of their fields are those of ONNX's documentation. */
public final class OnnxFileReader {
  private static final int EXTERNAL = 1;

  private final Message message;

  /** Null where one constant is read alone. */
  private final DataFiles files;

  /** The negative numbers that stand for the names of open dimensions. */
  private final Map<String, Long> symbols = new HashMap<>();

  private OnnxFileReader(Message message, DataFiles files) {
    this.message = message;
    this.files = files;
  }

  /**
   * Reads a file. Constants refer to its memory.
   *
   * @throws Refusal where it is damaged, or holds no graph
   */
  public static OnnxModel read(DataFiles files) {
    MemorySegment file = files.all().getFirst().segment();
    OnnxFileReader reader = new OnnxFileReader(new Message(file), files);
    return reader.model();
  }

  /**
   * Reads a file that holds one constant.
   *
   * @throws Refusal where it is damaged
   */
  public static OnnxTensor readTensor(MemorySegment file) {
    Message message = new Message(file);
    TensorFields tensor = new OnnxFileReader(message, null).new TensorFields();
    message.readAll(tensor);
    return tensor.tensor();
  }

  private OnnxModel model() {
    String[] texts = {"", ""};
    List<OnnxFunction> functions = new ArrayList<>();
    Map<String, Long> opsets = new HashMap<>();
    List<OnnxGraph> graphs = new ArrayList<>();
    message.readAll(
        field -> {
          switch (field) {
            case 2 -> texts[0] = message.text();
            case 6 -> texts[1] = message.text();
            case 7 -> graphs.add(graph());
            case 8 -> opset(opsets);
            case 25 -> functions.add(function());
            default -> message.skip();
          }
        });
    if (graphs.size() != 1) {
      throw new Refusal(
          graphs.isEmpty() ? "the file is no ONNX model: it has no graph" : "it has two graphs");
    }
    return new OnnxModel(texts[0], texts[1], opsets, functions, graphs.getFirst());
  }

  private OnnxFunction function() throws IOException {
    String[] texts = {"", ""};
    List<String> inputs = new ArrayList<>();
    List<String> outputs = new ArrayList<>();
    List<OnnxNode> nodes = new ArrayList<>();
    Map<String, OnnxAttribute> defaults = new LinkedHashMap<>();
    Map<String, Long> opsets = new HashMap<>();
    message.message(
        field -> {
          switch (field) {
            case 1 -> texts[0] = message.text();
            case 4 -> inputs.add(message.text());
            case 5 -> outputs.add(message.text());
            case 7 -> nodes.add(node());
            case 9 -> opset(opsets);
            case 10 -> texts[1] = message.text();
            case 11 -> {
              OnnxAttribute attribute = attribute();
              defaults.put(attribute.name(), attribute);
            }
            default -> message.skip();
          }
        });
    return new OnnxFunction(texts[0], plain(texts[1]), inputs, outputs, nodes, defaults, opsets);
  }

  /** A domain, empty for ONNX's own, which has a name too. */
  private static String plain(String domain) {
    return domain.equals("ai.onnx") ? "" : domain;
  }

  private void opset(Map<String, Long> opsets) throws IOException {
    String[] domain = {""};
    long[] version = {0};
    message.message(
        field -> {
          switch (field) {
            case 1 -> domain[0] = message.text();
            case 2 -> version[0] = message.int64();
            default -> message.skip();
          }
        });
    opsets.put(plain(domain[0]), version[0]);
  }

  private OnnxGraph graph() throws IOException {
    String[] name = {""};
    List<OnnxNode> nodes = new ArrayList<>();
    Map<String, OnnxTensor> constants = new LinkedHashMap<>();
    List<OnnxValue> inputs = new ArrayList<>();
    List<OnnxValue> outputs = new ArrayList<>();
    Map<String, OnnxValue> values = new HashMap<>();
    boolean[] isSparse = {false};
    message.message(
        field -> {
          switch (field) {
            case 1 -> nodes.add(node());
            case 2 -> name[0] = message.text();
            case 5 -> {
              OnnxTensor tensor = tensor();
              constants.put(tensor.name(), tensor);
            }
            case 11 -> inputs.add(value());
            case 12 -> outputs.add(value());
            case 13 -> {
              OnnxValue value = value();
              values.put(value.name(), value);
            }
            case 15 -> {
              isSparse[0] = true;
              message.skip();
            }
            default -> message.skip();
          }
        });
    if (isSparse[0]) {
      throw new Refusal("it has sparse constants, which are not supported");
    }
    return new OnnxGraph(name[0], nodes, constants, inputs, outputs, values);
  }

  private OnnxNode node() throws IOException {
    String[] texts = {"", "", ""};
    List<String> inputs = new ArrayList<>();
    List<String> outputs = new ArrayList<>();
    Map<String, OnnxAttribute> attributes = new LinkedHashMap<>();
    message.message(
        field -> {
          switch (field) {
            case 1 -> inputs.add(message.text());
            case 2 -> outputs.add(message.text());
            case 3 -> texts[0] = message.text();
            case 4 -> texts[1] = message.text();
            case 5 -> {
              OnnxAttribute attribute = attribute();
              attributes.put(attribute.name(), attribute);
            }
            case 7 -> texts[2] = message.text();
            default -> message.skip();
          }
        });
    return new OnnxNode(texts[0], texts[1], plain(texts[2]), inputs, outputs, attributes);
  }

  private OnnxAttribute attribute() throws IOException {
    String[] texts = {"", "", ""};
    float[] f = {0};
    long[] i = {0};
    OnnxTensor[] tensor = {null};
    OnnxGraph[] graph = {null};
    Numbers floats = new Numbers();
    Numbers ints = new Numbers();
    List<String> strings = new ArrayList<>();
    message.message(
        field -> {
          switch (field) {
            case 1 -> texts[0] = message.text();
            case 2 -> f[0] = message.float32();
            case 3 -> i[0] = message.int64();
            case 4 -> texts[1] = message.text();
            case 5 -> tensor[0] = tensor();
            case 6 -> graph[0] = graph();
            case 7 -> message.fixed32s(floats);
            case 8 -> message.int64s(ints);
            case 9 -> strings.add(message.text());
            case 21 -> texts[2] = message.text();
            default -> message.skip();
          }
        });
    return new OnnxAttribute(
        texts[0], f[0], i[0], texts[1], tensor[0], graph[0], floats, ints, strings, texts[2]);
  }

  private OnnxTensor tensor() throws IOException {
    TensorFields tensor = new TensorFields();
    message.message(tensor);
    return tensor.tensor();
  }

  /** The fields of a constant. */
  private final class TensorFields implements Message.Fields {
    private final Numbers dims = new Numbers();
    private final Numbers numbers = new Numbers();
    private MemorySegment raw = MemorySegment.NULL;
    private String name = "";
    private int type;
    private boolean isExternal;
    private final Map<String, String> entries = new HashMap<>();

    @Override
    public void read(int field) throws IOException {
      switch (field) {
        case 1 -> message.int64s(dims);
        case 2 -> type = message.int32();
        case 4 -> message.fixed32s(numbers);
        case 5, 7, 11 -> message.int64s(numbers);
        case 8 -> name = message.text();
        case 9 -> raw = message.bytes();
        case 10 -> message.fixed64s(numbers);
        case 13 -> entry();
        case 14 -> isExternal = message.int32() == EXTERNAL;
        default -> message.skip();
      }
    }

    private void entry() throws IOException {
      String[] texts = {"", ""};
      message.message(
          field -> {
            switch (field) {
              case 1 -> texts[0] = message.text();
              case 2 -> texts[1] = message.text();
              default -> message.skip();
            }
          });
      entries.put(texts[0], texts[1]);
    }

    OnnxTensor tensor() {
      if (!isExternal) {
        return new OnnxTensor(name, type, dims.toArray(), raw, numbers);
      }
      if (files == null) {
        throw new Refusal("the data of '" + name + "' are in another file");
      }
      return new OnnxTensor(name, type, dims.toArray(), files.part(entries, name), numbers);
    }
  }

  private OnnxValue value() throws IOException {
    String[] name = {""};
    int[] type = {0};
    Numbers dims = new Numbers();
    boolean[] hasShape = {false};
    message.message(
        field -> {
          switch (field) {
            case 1 -> name[0] = message.text();
            case 2 ->
                message.message(
                    kind -> {
                      if (kind == 1) {
                        type[0] = tensorType(dims, hasShape);
                      } else {
                        message.skip();
                      }
                    });
            default -> message.skip();
          }
        });
    return new OnnxValue(name[0], type[0], hasShape[0] ? dims.toArray() : null);
  }

  private int tensorType(Numbers dims, boolean[] hasShape) throws IOException {
    int[] type = {0};
    message.message(
        field -> {
          switch (field) {
            case 1 -> type[0] = message.int32();
            case 2 -> {
              hasShape[0] = true;
              message.message(dimension -> dimension(dimension, dims));
            }
            default -> message.skip();
          }
        });
    return type[0];
  }

  private void dimension(int field, Numbers dims) throws IOException {
    if (field != 1) {
      message.skip();
      return;
    }
    long[] size = {-1};
    message.message(
        part -> {
          switch (part) {
            case 1 -> size[0] = message.int64();
            case 2 -> size[0] = symbols.computeIfAbsent(message.text(), _ -> -2L - symbols.size());
            default -> message.skip();
          }
        });
    dims.add(size[0]);
  }
}
