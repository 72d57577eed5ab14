// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.metadata;

import io.thalamus.model.reader.ModelFile.Normalization;
import io.thalamus.tflite.file.ByteRange;
import io.thalamus.tflite.file.Checked;
import io.thalamus.tflite.file.FlatModel;
import io.thalamus.tflite.file.Refusal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.tensorflow.lite.support.metadata.schema.AssociatedFile;
import org.tensorflow.lite.support.metadata.schema.AssociatedFileType;
import org.tensorflow.lite.support.metadata.schema.ModelMetadata;
import org.tensorflow.lite.support.metadata.schema.NormalizationOptions;
import org.tensorflow.lite.support.metadata.schema.ProcessUnit;
import org.tensorflow.lite.support.metadata.schema.ProcessUnitOptions;
import org.tensorflow.lite.support.metadata.schema.SubGraphMetadata;
import org.tensorflow.lite.support.metadata.schema.TensorMetadata;

/**
 * The metadata that TensorFlow Lite's tools add to a file: a FlatBuffer in an entry of its own.
 * Immutable.
 *
 * @param description of the metadata, or else of the model; may be empty
 * @param normalizations by input index
 * @param labels the classes of the first output that has some; may be empty
 */
public record FileMetadata(
    String description, Map<Integer, Normalization> normalizations, List<String> labels) {
  private static final String ENTRY = "TFLITE_METADATA";
  private static final int SMALLEST = 8;

  /**
   * Reads a file's metadata. A file without any gives its plain description.
   *
   * @throws Refusal where the metadata or the archive behind the model are damaged
   */
  public static FileMetadata read(FlatModel file) {
    ByteRange entry = file.metadata().getOrDefault(ENTRY, ByteRange.EMPTY);
    if (entry.length() < SMALLEST) {
      return new FileMetadata(file.description(), Map.of(), List.of());
    }
    ByteBuffer bytes =
        file.file()
            .segment()
            .asSlice(entry.offset(), entry.length())
            .asByteBuffer()
            .order(ByteOrder.LITTLE_ENDIAN);
    Checked checked = Checked.file(entry.length()).at("the metadata");
    ModelMetadata metadata = checked.get(() -> ModelMetadata.getRootAsModelMetadata(bytes));
    String description = checked.text(metadata::descriptionAsByteBuffer);
    List<SubGraphMetadata> graphs =
        checked.tables(metadata::subgraphMetadataLength, metadata::subgraphMetadata);
    if (graphs.isEmpty()) {
      return new FileMetadata(
          description.isEmpty() ? file.description() : description, Map.of(), List.of());
    }
    SubGraphMetadata main = graphs.getFirst();
    return new FileMetadata(
        description.isEmpty() ? file.description() : description,
        normalizations(main, checked),
        labels(file, main, checked));
  }

  private static Map<Integer, Normalization> normalizations(
      SubGraphMetadata graph, Checked checked) {
    Map<Integer, Normalization> found = new HashMap<>();
    int index = 0;
    for (TensorMetadata input :
        checked.tables(graph::inputTensorMetadataLength, graph::inputTensorMetadata)) {
      for (ProcessUnit unit : checked.tables(input::processUnitsLength, input::processUnits)) {
        Optional<Normalization> normalization = normalization(unit, checked);
        if (normalization.isPresent()) {
          found.put(index, normalization.get());
        }
      }
      index++;
    }
    return found;
  }

  /** One mean and deviation for all channels; empty where the channels differ. */
  private static Optional<Normalization> normalization(ProcessUnit unit, Checked checked) {
    if (checked.get(unit::optionsType) != ProcessUnitOptions.NormalizationOptions) {
      return Optional.empty();
    }
    NormalizationOptions options = new NormalizationOptions();
    if (checked.get(() -> unit.options(options)) == null) {
      return Optional.empty();
    }
    float[] means = checked.floats(options::meanLength, options::mean);
    float[] deviations = checked.floats(options::stdLength, options::std);
    return isUniform(means) && isUniform(deviations) && deviations[0] != 0
        ? Optional.of(new Normalization(means[0], deviations[0]))
        : Optional.empty();
  }

  private static boolean isUniform(float[] values) {
    for (float value : values) {
      if (value != values[0] || !Float.isFinite(value)) {
        return false;
      }
    }
    return values.length > 0;
  }

  private static List<String> labels(FlatModel file, SubGraphMetadata graph, Checked checked) {
    for (TensorMetadata output :
        checked.tables(graph::outputTensorMetadataLength, graph::outputTensorMetadata)) {
      for (AssociatedFile associated :
          checked.tables(output::associatedFilesLength, output::associatedFiles)) {
        byte type = checked.get(associated::type);
        if (type == AssociatedFileType.TENSOR_AXIS_LABELS
            || type == AssociatedFileType.TENSOR_VALUE_LABELS) {
          String name = checked.text(associated::nameAsByteBuffer);
          Optional<String> text = AttachedFiles.text(file.file().segment(), name);
          if (text.isPresent()) {
            return text.get().lines().map(String::strip).toList();
          }
        }
      }
    }
    return List.of();
  }
}
