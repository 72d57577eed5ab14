// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.update;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.Constants;

/**
 * An engine wrapped as a bundle: its jars embedded, an activator that uses it. Immutable.
 *
 * @param name of the engine
 * @param activator uses it
 * @param jars what the names of its jars on the class path begin with
 * @param natives what the paths of its mapped libraries contain
 */
record PeerBundle(
    String name, Class<? extends BundleActivator> activator, List<String> jars, String natives) {
  static final List<PeerBundle> ALL =
      List.of(
          new PeerBundle("thalamus", ThalamusActivator.class, List.of("io.thalamus."), "thalamus"),
          new PeerBundle(
              "onnxruntime", OnnxRuntimeActivator.class, List.of("onnxruntime-"), "onnxruntime"),
          new PeerBundle(
              "djl",
              DjlActivator.class,
              List.of(
                  "api-",
                  "pytorch-",
                  "gson-",
                  "jna-",
                  "commons-compress-",
                  "commons-codec-",
                  "commons-io-",
                  "slf4j-api-"),
              "djl"));

  private static final Attributes.Name[] NAMES = {
    new Attributes.Name(Constants.BUNDLE_MANIFESTVERSION),
    new Attributes.Name(Constants.BUNDLE_SYMBOLICNAME),
    new Attributes.Name(Constants.BUNDLE_VERSION),
    new Attributes.Name(Constants.BUNDLE_ACTIVATOR),
    new Attributes.Name(Constants.IMPORT_PACKAGE),
    new Attributes.Name(Constants.BUNDLE_CLASSPATH)
  };

  /** Writes the bundle. */
  void write(Path file, int version) throws IOException {
    List<Path> embedded =
        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .map(Path::of)
            .filter(path -> jars.stream().anyMatch(path.getFileName().toString()::startsWith))
            .toList();
    StringBuilder classPath = new StringBuilder(".");
    embedded.forEach(jar -> classPath.append(',').append(jar.getFileName()));
    String[] values = {
      "2",
      "peer." + name,
      version + ".0.0",
      activator.getName(),
      "org.osgi.framework",
      classPath.toString()
    };
    Manifest manifest = new Manifest();
    Attributes attributes = manifest.getMainAttributes();
    attributes.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    for (int i = 0; i < NAMES.length; i++) {
      attributes.put(NAMES[i], values[i]);
    }
    try (JarOutputStream jar = new JarOutputStream(Files.newOutputStream(file), manifest)) {
      jar.setLevel(0);
      for (Path path : embedded) {
        jar.putNextEntry(new JarEntry(path.getFileName().toString()));
        Files.copy(path, jar);
      }
      String code = activator.getName().replace('.', '/') + ".class";
      jar.putNextEntry(new JarEntry(code));
      try (InputStream stream = activator.getResourceAsStream("/" + code)) {
        stream.transferTo(jar);
      }
      jar.putNextEntry(new JarEntry("model.onnx"));
      new ByteArrayInputStream(model()).transferTo(jar);
    }
  }

  /** x + x, of three floats. */
  private static byte[] model() {
    GraphProto.Builder graph =
        GraphProto.newBuilder()
            .setName("twice")
            .addInput(three("x"))
            .addOutput(three("y"))
            .addNode(
                NodeProto.newBuilder().setOpType("Add").addInput("x").addInput("x").addOutput("y"));
    return ModelProto.newBuilder()
        .setIrVersion(8)
        .addOpsetImport(OperatorSetIdProto.newBuilder().setDomain("").setVersion(13))
        .setGraph(graph)
        .build()
        .toByteArray();
  }

  private static ValueInfoProto three(String name) {
    TensorShapeProto shape =
        TensorShapeProto.newBuilder()
            .addDim(TensorShapeProto.Dimension.newBuilder().setDimValue(3))
            .build();
    return ValueInfoProto.newBuilder()
        .setName(name)
        .setType(
            TypeProto.newBuilder()
                .setTensorType(
                    TypeProto.Tensor.newBuilder()
                        .setElemType(TensorProto.DataType.FLOAT.getNumber())
                        .setShape(shape)))
        .build();
  }
}
