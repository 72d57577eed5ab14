// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.flatbuffers.FlatBufferBuilder;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFile.Normalization;
import io.thalamus.model.reader.ModelFormatException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.TensorType;
import org.tensorflow.lite.support.metadata.schema.AssociatedFile;
import org.tensorflow.lite.support.metadata.schema.AssociatedFileType;
import org.tensorflow.lite.support.metadata.schema.ModelMetadata;
import org.tensorflow.lite.support.metadata.schema.NormalizationOptions;
import org.tensorflow.lite.support.metadata.schema.ProcessUnit;
import org.tensorflow.lite.support.metadata.schema.ProcessUnitOptions;
import org.tensorflow.lite.support.metadata.schema.SubGraphMetadata;
import org.tensorflow.lite.support.metadata.schema.TensorMetadata;

/** Description, normalization and labels, and archives that are missing or damaged. */
class MetadataTest {
  private static byte[] metadata(float[] means, float[] deviations) {
    FlatBufferBuilder flat = new FlatBufferBuilder();
    int mean = NormalizationOptions.createMeanVector(flat, means);
    int std = NormalizationOptions.createStdVector(flat, deviations);
    int normalization = NormalizationOptions.createNormalizationOptions(flat, mean, std);
    ProcessUnit.startProcessUnit(flat);
    ProcessUnit.addOptionsType(flat, ProcessUnitOptions.NormalizationOptions);
    ProcessUnit.addOptions(flat, normalization);
    int unit = ProcessUnit.endProcessUnit(flat);
    int units = TensorMetadata.createProcessUnitsVector(flat, new int[] {unit});
    TensorMetadata.startTensorMetadata(flat);
    TensorMetadata.addProcessUnits(flat, units);
    int input = TensorMetadata.endTensorMetadata(flat);

    int name = flat.createString("labels.txt");
    AssociatedFile.startAssociatedFile(flat);
    AssociatedFile.addName(flat, name);
    AssociatedFile.addType(flat, AssociatedFileType.TENSOR_AXIS_LABELS);
    int labels = AssociatedFile.endAssociatedFile(flat);
    int files = TensorMetadata.createAssociatedFilesVector(flat, new int[] {labels});
    TensorMetadata.startTensorMetadata(flat);
    TensorMetadata.addAssociatedFiles(flat, files);
    int output = TensorMetadata.endTensorMetadata(flat);

    int inputs = SubGraphMetadata.createInputTensorMetadataVector(flat, new int[] {input});
    int outputs = SubGraphMetadata.createOutputTensorMetadataVector(flat, new int[] {output});
    SubGraphMetadata.startSubGraphMetadata(flat);
    SubGraphMetadata.addInputTensorMetadata(flat, inputs);
    SubGraphMetadata.addOutputTensorMetadata(flat, outputs);
    int graph = SubGraphMetadata.endSubGraphMetadata(flat);
    int graphs = ModelMetadata.createSubgraphMetadataVector(flat, new int[] {graph});
    int description = flat.createString("tells cats from dogs");
    ModelMetadata.startModelMetadata(flat);
    ModelMetadata.addDescription(flat, description);
    ModelMetadata.addSubgraphMetadata(flat, graphs);
    ModelMetadata.finishModelMetadataBuffer(flat, ModelMetadata.endModelMetadata(flat));
    return flat.sizedByteArray();
  }

  private static byte[] model(byte[] metadata) {
    TfliteFileBuilder file = new TfliteFileBuilder();
    int x = file.floats("x", 1, 2);
    int y = file.floats("y", 1, 2);
    file.operator(BuiltinOperator.ADD, new int[] {x, x}, y).graph(new int[] {x}, y);
    if (metadata.length > 0) {
      file.metadata("TFLITE_METADATA", metadata);
    }
    return file.build();
  }

  private static byte[] archive(String name, String text, int method) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    byte[] content = text.getBytes(StandardCharsets.UTF_8);
    try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
      zip.putNextEntry(new ZipEntry("other.txt"));
      zip.write(new byte[100]);
      zip.closeEntry();
      ZipEntry entry = new ZipEntry(name);
      entry.setMethod(method);
      if (method == ZipEntry.STORED) {
        CRC32 crc = new CRC32();
        crc.update(content);
        entry.setCrc(crc.getValue());
        entry.setSize(content.length);
      }
      zip.putNextEntry(entry);
      zip.write(content);
      zip.closeEntry();
      zip.setComment("a comment behind it all");
    }
    return bytes.toByteArray();
  }

  private static byte[] joined(byte[] first, byte[] second) {
    byte[] all = java.util.Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, all, first.length, second.length);
    return all;
  }

  private static byte[] uniform() {
    return metadata(new float[] {127.5f, 127.5f, 127.5f}, new float[] {128});
  }

  @Test
  void plainFileHasItsDescriptionOnly() throws ModelFormatException {
    ModelFile file = TestFiles.read(model(new byte[0]));
    assertEquals("made for a test", file.description());
    assertEquals(Map.of(), file.normalizations());
    assertEquals(List.of(), file.labels());
  }

  @Test
  void normalizationAndLabels() throws ModelFormatException, IOException {
    for (int method : new int[] {ZipEntry.STORED, ZipEntry.DEFLATED}) {
      byte[] archive = archive("labels.txt", "cat\r\ndog\nhuman being\n", method);
      ModelFile file = TestFiles.read(joined(model(uniform()), archive));
      assertEquals("tells cats from dogs", file.description());
      assertEquals(Map.of(0, new Normalization(127.5f, 128)), file.normalizations());
      assertEquals(List.of("cat", "dog", "human being"), file.labels());
    }
  }

  @Test
  void normalizationThatDiffersByChannelIsLeftOut() throws ModelFormatException {
    byte[] metadata = metadata(new float[] {103, 116, 123}, new float[] {1, 1, 1});
    assertEquals(Map.of(), TestFiles.read(model(metadata)).normalizations());
  }

  @Test
  void withoutArchiveThereAreNoLabels() throws ModelFormatException {
    assertEquals(List.of(), TestFiles.read(model(uniform())).labels());
  }

  @Test
  void archiveWithoutTheFileGivesNoLabels() throws ModelFormatException, IOException {
    byte[] archive = archive("names.txt", "cat", ZipEntry.DEFLATED);
    assertEquals(List.of(), TestFiles.read(joined(model(uniform()), archive)).labels());
  }

  @Test
  void hugeLabelFileIsRefused() throws IOException {
    byte[] archive = archive("labels.txt", "x".repeat(2 << 20), ZipEntry.DEFLATED);
    byte[] file = joined(model(uniform()), archive);
    ModelFormatException refusal =
        assertThrows(ModelFormatException.class, () -> TestFiles.read(file));
    assertEquals(
        "the label file 'labels.txt' has 2097152 bytes, more than 1048576", refusal.getMessage());
  }

  /** Every byte of the archive, damaged one at a time: labels, none, or a clear line. */
  @Test
  void damagedArchives() throws IOException {
    byte[] model = model(uniform());
    byte[] whole = joined(model, archive("labels.txt", "cat\ndog\n", ZipEntry.DEFLATED));
    int refused = 0;
    for (int at = model.length; at < whole.length; at++) {
      for (int value : new int[] {0, 0x7f, 0xff}) {
        byte[] damaged = whole.clone();
        damaged[at] = (byte) value;
        try {
          TestFiles.read(damaged);
        } catch (ModelFormatException e) {
          assertTrue(e.getMessage().contains("archive") || e.getMessage().contains("label file"));
          refused++;
        }
      }
    }
    assertTrue(refused > 20, refused + " damaged archives were noticed");
  }

  @Test
  void unsignedResultsAreNamed() throws ModelFormatException {
    TfliteFileBuilder unsigned = new TfliteFileBuilder();
    int x = unsigned.floats("x", 2);
    int y = unsigned.tensor("y", TensorType.UINT32, null, 2);
    unsigned.operator(BuiltinOperator.BITCAST, new int[] {x}, y).graph(new int[] {x}, x, y);
    assertEquals(
        "made for a test Results of uint32 are given as int32 of the same bits: y.",
        TestFiles.read(unsigned).description());
  }
}
