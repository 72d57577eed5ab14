// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.model.reader.ModelReader;
import io.thalamus.model.reader.ReadOptions;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.tflite.convert.Converters;
import io.thalamus.tflite.convert.EntryPoint;
import io.thalamus.tflite.convert.ModelConverter;
import io.thalamus.tflite.file.FlatModel;
import io.thalamus.tflite.file.FlatModelReader;
import io.thalamus.tflite.file.FlatSignature;
import io.thalamus.tflite.file.FlatTensor;
import io.thalamus.tflite.file.Refusal;
import io.thalamus.tflite.metadata.FileMetadata;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.osgi.service.component.annotations.Component;
import org.tensorflow.lite.schema.TensorType;

/**
 * Reads TensorFlow Lite files into models of NNAPI's operations. Thread-safe; keeps nothing.
 *
 * <p>Weights are not copied: the model refers to the mapping of the file. Values that NNAPI wants
 * in another form than the file has (see {@code Constants}) travel with the model.
 */
@Component(service = ModelReader.class)
public final class TfliteReader implements ModelReader {
  private static final String FORMAT = "TensorFlow Lite";
  private static final byte[] IDENTIFIER = "TFL3".getBytes(StandardCharsets.US_ASCII);
  private static final int IDENTIFIER_OFFSET = 4;

  /** The converters, which take longer to make than many a file to be read: not before one is. */
  private static final class Standard {
    private static final Converters CONVERTERS = new Converters(OperationCatalog.standard());

    private Standard() {}
  }

  /** For the framework, and for tests. */
  public TfliteReader() {}

  @Override
  public String format() {
    return FORMAT;
  }

  /**
   * By the identifier, or by the name, so that a damaged {@code .tflite} file is reported as such.
   */
  @Override
  public boolean accepts(String fileName, MemorySegment head) {
    return fileName.toLowerCase(Locale.ROOT).endsWith(".tflite") || hasIdentifier(head);
  }

  private static boolean hasIdentifier(MemorySegment head) {
    if (head.byteSize() < IDENTIFIER_OFFSET + IDENTIFIER.length) {
      return false;
    }
    for (int i = 0; i < IDENTIFIER.length; i++) {
      if (head.get(ValueLayout.JAVA_BYTE, IDENTIFIER_OFFSET + i) != IDENTIFIER[i]) {
        return false;
      }
    }
    return true;
  }

  @Override
  public ModelFile read(SharedMemory file) throws ModelFormatException {
    return read(file, ReadOptions.DEFAULT);
  }

  @Override
  public ModelFile read(SharedMemory file, ReadOptions options) throws ModelFormatException {
    try {
      return convert(file, options);
    } catch (Refusal e) {
      // Names out of a damaged file may hold anything; a message is one line.
      throw new ModelFormatException(e.getMessage().replaceAll("\\p{Cntrl}", "?"), e);
    }
  }

  private static ModelConverter.Converted convert(
      FlatModel content, EntryPoint entry, ReadOptions options) {
    try {
      return ModelConverter.convert(content, entry, options, Standard.CONVERTERS);
    } catch (Refusal e) {
      for (EntryPoint other : entry.others(options)) {
        try {
          return ModelConverter.convert(content, other, options, Standard.CONVERTERS);
        } catch (Refusal _) {
          // The message is the one for the sizes that the file was written with.
        }
      }
      throw e;
    }
  }

  private ModelFile convert(SharedMemory file, ReadOptions options) {
    FlatModel content = FlatModelReader.read(file);
    EntryPoint entry = EntryPoint.of(content, options);
    ModelConverter.Converted converted = convert(content, entry, options);
    FileMetadata metadata = FileMetadata.read(content);
    boolean isMain = entry.graph().index() == 0;
    List<String> unsigned = new ArrayList<>();
    for (int output : entry.outputs()) {
      FlatTensor tensor = entry.graph().tensors().get(output);
      if (tensor.is(TensorType.UINT32)) {
        unsigned.add(entry.outputNames().getOrDefault(tensor.index(), tensor.name()));
      }
    }
    return new ModelFile(
            converted.model(),
            FORMAT,
            metadata.description(),
            isMain ? metadata.normalizations() : Map.of(),
            isMain ? metadata.labels() : List.of())
        .withUnsignedResults(unsigned)
        .withFirstValues(converted.firstValues())
        .withOpenInputs(entry.openInputs())
        .withSignatures(content.signatures().stream().map(FlatSignature::name).toList());
  }
}
