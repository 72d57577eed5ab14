// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.file;

import io.thalamus.memory.SharedMemory;
import io.thalamus.tflite.file.FlatOperator.Kind;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.tensorflow.lite.schema.Buffer;
import org.tensorflow.lite.schema.Metadata;
import org.tensorflow.lite.schema.Model;
import org.tensorflow.lite.schema.OperatorCode;
import org.tensorflow.lite.schema.QuantizationParameters;
import org.tensorflow.lite.schema.SignatureDef;
import org.tensorflow.lite.schema.SparsityParameters;
import org.tensorflow.lite.schema.SubGraph;
import org.tensorflow.lite.schema.Tensor;
import org.tensorflow.lite.schema.TensorMap;

/** Reads the FlatBuffer of one file into plain values with checked indexes. Used once. */
public final class FlatModelReader {
  /** The version of the schema that every published model has. */
  private static final int SCHEMA_VERSION = 3;

  private static final int SMALLEST_FILE = 16;

  private final SharedMemory file;
  private final Checked checked;
  private List<ByteRange> buffers = List.of();
  private List<Kind> kinds = List.of();

  private FlatModelReader(SharedMemory file) {
    this.file = file;
    this.checked = Checked.file(file.size());
  }

  /**
   * Reads a file.
   *
   * @throws Refusal where it is of another format or damaged
   */
  public static FlatModel read(SharedMemory file) {
    if (file.size() > Integer.MAX_VALUE) {
      throw new Refusal(
          "the file has " + file.size() + " bytes; a TensorFlow Lite file has at most 2 GiB");
    }
    ByteBuffer bytes = file.segment().asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    if (bytes.limit() < SMALLEST_FILE || !Model.ModelBufferHasIdentifier(bytes)) {
      throw new Refusal("not a TensorFlow Lite file: the identifier TFL3 is missing at byte 4");
    }
    return new FlatModelReader(file).read(bytes);
  }

  private FlatModel read(ByteBuffer bytes) {
    Model model = checked.get(() -> Model.getRootAsModel(bytes));
    long version = checked.get(model::version);
    if (version != SCHEMA_VERSION) {
      throw new Refusal("the file has schema version " + version + "; only version 3 is known");
    }
    FlatTable root = checked.get(() -> FlatTable.root(bytes));
    buffers = buffers(model, root);
    kinds = kinds(model);
    List<SubGraph> tables =
        checked.at("the list of graphs").tables(model::subgraphsLength, model::subgraphs);
    if (tables.isEmpty()) {
      throw new Refusal("the file is damaged: it holds no graph");
    }
    List<FlatGraph> graphs = new ArrayList<>();
    for (SubGraph table : tables) {
      graphs.add(graph(graphs.size(), table, root));
    }
    return new FlatModel(
        file,
        checked.at("the description").text(model::descriptionAsByteBuffer),
        Composites.inlined(graphs, checked.at("a composite")),
        metadata(model),
        signatures(model, graphs));
  }

  private List<FlatSignature> signatures(Model model, List<FlatGraph> graphs) {
    Checked place = checked.at("the list of signatures");
    List<FlatSignature> signatures = new ArrayList<>();
    for (SignatureDef table : place.tables(model::signatureDefsLength, model::signatureDefs)) {
      long graph = place.get(table::subgraphIndex);
      if (graph < 0 || graph >= graphs.size()) {
        throw new Refusal("the file is damaged: a signature has graph " + graph);
      }
      int tensors = graphs.get((int) graph).tensors().size();
      signatures.add(
          new FlatSignature(
              place.text(table::signatureKeyAsByteBuffer),
              (int) graph,
              names(place.tables(table::inputsLength, table::inputs), place, tensors),
              names(place.tables(table::outputsLength, table::outputs), place, tensors)));
    }
    return List.copyOf(signatures);
  }

  private static Map<Integer, String> names(List<TensorMap> maps, Checked place, int tensors) {
    Map<Integer, String> names = new HashMap<>();
    for (TensorMap map : maps) {
      long tensor = place.get(map::tensorIndex);
      if (tensor < 0 || tensor >= tensors) {
        throw new Refusal("the file is damaged: a signature has tensor " + tensor);
      }
      names.put((int) tensor, place.text(map::nameAsByteBuffer));
    }
    return Map.copyOf(names);
  }

  private List<ByteRange> buffers(Model model, FlatTable root) {
    Checked place = checked.at("the list of buffers");
    List<ByteRange> ranges = new ArrayList<>();
    for (Buffer buffer : place.tables(model::buffersLength, model::buffers)) {
      int index = ranges.size();
      Checked here = place.at("buffer " + index);
      ByteRange range = here.get(() -> here.range(buffer.dataLength(), buffer.dataAsByteBuffer()));
      ranges.add(range.isEmpty() ? behind(index, root, here) : range);
    }
    return ranges;
  }

  /** The bytes of a buffer that stand behind all tables, as newer writers put them. */
  private ByteRange behind(int buffer, FlatTable root, Checked place) {
    long offset = place.get(() -> root.bufferOffset(buffer));
    long size = place.get(() -> root.bufferSize(buffer));
    if (offset >= 0 && offset <= 1 || size == 0) {
      return ByteRange.EMPTY;
    }
    if (offset < 0 || size < 0 || offset > file.size() || size > file.size() - offset) {
      throw new Refusal("the file is damaged: buffer " + buffer + " points outside of the file");
    }
    return new ByteRange(offset, size);
  }

  private List<Kind> kinds(Model model) {
    Checked place = checked.at("the list of operator codes");
    List<Kind> codes = new ArrayList<>();
    for (OperatorCode code : place.tables(model::operatorCodesLength, model::operatorCodes)) {
      // Codes above 127 do not fit the old field; newer files fill both, and the larger counts.
      codes.add(
          place.get(
              () ->
                  new Kind(
                      Math.max(code.builtinCode(), code.deprecatedBuiltinCode()),
                      place.text(code.customCodeAsByteBuffer()))));
    }
    return codes;
  }

  private Map<String, ByteRange> metadata(Model model) {
    Checked place = checked.at("the metadata");
    Map<String, ByteRange> entries = new HashMap<>();
    for (Metadata entry : place.tables(model::metadataLength, model::metadata)) {
      place.get(
          () ->
              entries.put(
                  place.text(entry.nameAsByteBuffer()), buffer(entry.buffer(), "the metadata")));
    }
    return Map.copyOf(entries);
  }

  private FlatGraph graph(int index, SubGraph table, FlatTable root) {
    String name = index == 0 ? "the main graph" : "graph " + index;
    Checked place = checked.at(name);
    List<FlatTensor> tensors = new ArrayList<>();
    for (Tensor tensor : place.tables(table::tensorsLength, table::tensors)) {
      String where = "tensor " + tensors.size() + " of " + name;
      tensors.add(tensor(tensors.size(), tensor, where));
    }
    for (FlatTensor tensor : List.copyOf(tensors)) {
      if (tensor.blocks() != null && tensor.isConstant()) {
        tensors.set(tensor.index(), FlatBlocks.resolve(tensor, tensors, file, place));
      }
    }
    List<FlatOperator> operators = new ArrayList<>();
    FlatTable plain = place.get(() -> root.graph(index));
    for (FlatTable operator : place.tables(table::operatorsLength, plain::operator)) {
      String where = "operator " + operators.size() + " of " + name;
      operators.add(operator(operators.size(), operator, where, tensors.size()));
    }
    int[] inputs = place.get(() -> place.ints(table.inputsVector()));
    int[] outputs = place.get(() -> place.ints(table.outputsVector()));
    checkIndexes(inputs, 0, tensors.size(), name);
    checkIndexes(outputs, 0, tensors.size(), name);
    return new FlatGraph(index, List.copyOf(tensors), inputs, outputs, List.copyOf(operators));
  }

  private FlatTensor tensor(int index, Tensor table, String where) {
    Checked place = checked.at(where);
    // One guard for all fields: each accessor that is passed on by itself costs a start its
    // linking.
    return place.get(
        () -> {
          float[] scales = {};
          long[] zeroPoints = {};
          int quantizedDimension = 0;
          FlatBlocks blocks = null;
          QuantizationParameters quantization = table.quantization();
          if (quantization != null) {
            scales = place.floats(quantization.scaleVector());
            zeroPoints = place.longs(quantization.zeroPointVector());
            quantizedDimension = quantization.quantizedDimension();
            blocks = FlatTable.blocks(quantization);
          }
          SparsityParameters sparsity = table.sparsity();
          return new FlatTensor(
              index,
              place.text(table.nameAsByteBuffer()),
              table.type(),
              place.ints(table.shapeVector()),
              buffer(table.buffer(), where),
              scales,
              zeroPoints,
              quantizedDimension,
              table.isVariable(),
              place.ints(table.shapeSignatureVector()),
              sparsity == null ? null : SparsityReader.read(sparsity, place),
              blocks);
        });
  }

  private FlatOperator operator(int index, FlatTable table, String where, int tensors) {
    Checked place = checked.at(where);
    return place.get(
        () -> {
          int code = table.opcodeIndex();
          if (code < 0 || code >= kinds.size()) {
            throw new Refusal(
                "the file is damaged: %s has code number %s of %s"
                    .formatted(where, code, kinds.size()));
          }
          int[] inputs = place.ints(table.inputs());
          int[] outputs = place.ints(table.outputs());
          int[] intermediates = place.ints(table.intermediates());
          checkIndexes(inputs, -1, tensors, where);
          checkIndexes(outputs, 0, tensors, where);
          checkIndexes(intermediates, -1, tensors, where);
          return new FlatOperator(
              index,
              kinds.get(code),
              inputs,
              outputs,
              intermediates,
              place.range(table.customOptionsLength(), table.customOptions()),
              table,
              place);
        });
  }

  private ByteRange buffer(long index, String where) {
    if (index < 0 || index >= buffers.size()) {
      throw new Refusal(
          "the file is damaged: %s has buffer number %s of %s"
              .formatted(where, index, buffers.size()));
    }
    return buffers.get((int) index);
  }

  private static void checkIndexes(int[] indexes, int least, int count, String where) {
    for (int index : indexes) {
      if (index < least || index >= count) {
        throw new Refusal(
            "the file is damaged: " + where + " has tensor number " + index + " of " + count);
      }
    }
  }
}
