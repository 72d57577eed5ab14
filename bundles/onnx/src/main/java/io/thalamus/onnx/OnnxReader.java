// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.reader.Companions;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.model.reader.ModelReader;
import io.thalamus.model.reader.ReadOptions;
import io.thalamus.onnx.convert.Converters;
import io.thalamus.onnx.convert.OpenInputs;
import io.thalamus.onnx.file.DataFiles;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.file.MadeConstants;
import io.thalamus.onnx.file.OnnxFileReader;
import io.thalamus.onnx.file.OnnxModel;
import io.thalamus.onnx.file.OnnxValue;
import io.thalamus.onnx.file.Refusal;
import io.thalamus.operations.OperationCatalog;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.osgi.service.component.annotations.Component;

/**
 * Reads ONNX files into models of NNAPI's operations. Thread-safe; keeps what it makes of the
 * constants of a file as long as the memory of that is in use.
 */
@Component(service = ModelReader.class)
public final class OnnxReader implements ModelReader {
  private static final String FORMAT = "ONNX";

  /** The first field of a model is its version, a small number: field 1, a varint. */
  private static final int VERSION_TAG = 1 << 3;

  private static final int NEWEST_VERSION = 63;

  /** The fields that may follow: texts, numbers, the graph, opsets, properties. */
  private static final List<Integer> NEXT_TAGS =
      List.of(2 << 3 | 2, 3 << 3 | 2, 4 << 3 | 2, 5 << 3, 6 << 3 | 2, 7 << 3 | 2, 8 << 3 | 2);

  /** The converters, which take longer to make than many a file to be read: not before one is. */
  private static final class Standard {
    private static final Converters CONVERTERS = new Converters(OperationCatalog.standard());

    private Standard() {}
  }

  private final MadeConstants made = new MadeConstants();

  /** For the framework, and for tests. */
  public OnnxReader() {}

  @Override
  public String format() {
    return FORMAT;
  }

  /**
   * By the first fields, or by the name, so that a damaged {@code .onnx} file is reported as such.
   */
  @Override
  public boolean accepts(String fileName, MemorySegment head) {
    return fileName.toLowerCase(Locale.ROOT).endsWith(".onnx") || hasVersion(head);
  }

  private static boolean hasVersion(MemorySegment head) {
    if (head.byteSize() < 3) {
      return false;
    }
    int version = head.get(ValueLayout.JAVA_BYTE, 1);
    return head.get(ValueLayout.JAVA_BYTE, 0) == VERSION_TAG
        && version > 0
        && version <= NEWEST_VERSION
        && NEXT_TAGS.contains((int) head.get(ValueLayout.JAVA_BYTE, 2));
  }

  @Override
  public ModelFile read(SharedMemory file) throws ModelFormatException {
    return read(file, ReadOptions.DEFAULT);
  }

  @Override
  public ModelFile read(SharedMemory file, ReadOptions options) throws ModelFormatException {
    return read(file, options, Companions.NONE);
  }

  @Override
  public ModelFile read(SharedMemory file, ReadOptions options, Companions companions)
      throws ModelFormatException {
    if (!options.signature().isEmpty()) {
      throw new ModelFormatException("ONNX files have no named entry points");
    }
    try {
      DataFiles files = new DataFiles(file, companions, made);
      OnnxModel content = OnnxFileReader.read(files);
      OpenInputs open = OpenInputs.of(content);
      Model model = open.convert(content, files, Standard.CONVERTERS, options.shapes());
      String description = (content.description() + " " + ClassNames.of(content.graph())).strip();
      List<String> unsigned =
          content.graph().outputs().stream()
              .filter(output -> output.type() == DataType.UINT32.code())
              .map(OnnxValue::name)
              .toList();
      return new ModelFile(model, FORMAT, description, Map.of(), List.of())
          .withUnsignedResults(unsigned)
          .withOpenInputs(open.of(model));
    } catch (Refusal e) {
      // Names out of a damaged file may hold anything; a message is one line.
      throw new ModelFormatException(e.getMessage().replaceAll("\\p{Cntrl}", "?"), e);
    }
  }
}
