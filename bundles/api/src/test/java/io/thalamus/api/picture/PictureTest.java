// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api.picture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.api.Tensor;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.Random;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PictureTest {
  @TempDir Path folder;

  private static Operand operand(String type, float scale, int zeroPoint, int... shape) {
    return new Operand(
        OperandCode.valueOf(type),
        Shape.of(shape),
        Quantization.of(scale, zeroPoint),
        Lifetime.SUBGRAPH_INPUT,
        "x");
  }

  /** The stored inputs were made from the same pictures by another program. */
  @ParameterizedTest
  @CsvSource({
    "resnet8_cifar_float,cat.bmp,cat,32,TENSOR_FLOAT32,0,0,0,1",
    "resnet8_cifar_float,bird.bmp,bird,32,TENSOR_FLOAT32,0,0,0,1",
    "resnet8_cifar_int8,cat.bmp,cat,32,TENSOR_QUANT8_ASYMM_SIGNED,1,-128,,",
    "mobilenet_v2_100_224_uint8,cat.bmp,cat,224,TENSOR_QUANT8_ASYMM,0.0078125,128,,",
    "mobilenet_v2_100_224_uint8,bird.bmp,bird,224,TENSOR_QUANT8_ASYMM,0.0078125,128,,",
    "mobilenet_v1_025_224_float,cat.bmp,cat,224,TENSOR_FLOAT32,0,0,127.5,127.5",
    "mobilenet_v1_025_224_float,burger.jpg,burger,224,TENSOR_FLOAT32,0,0,127.5,127.5",
    "mediapipe_face_front,face.jpg,face,128,TENSOR_FLOAT32,0,0,127.5,127.5",
    "mediapipe_face_front,grace_hopper.bmp,hopper,128,TENSOR_FLOAT32,0,0,127.5,127.5",
    "ssd_mobilenet_v1_coco_uint8,cats_and_dogs.jpg,pets,300,TENSOR_QUANT8_ASYMM,0.0078125,128,,",
  })
  void storedInputsAreReproducedBitForBit(
      String model,
      String picture,
      String name,
      int size,
      String type,
      float scale,
      int zeroPoint,
      Float mean,
      Float std)
      throws Exception {
    Path directory = Shared.file("models/" + model);
    Operand input = operand(type, scale, zeroPoint, 1, size, size, 3);
    check(directory, picture, name, input, mean, std);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
  void grayPicturesKeepTheirLevels(int digit) throws Exception {
    String picture = "mnist_sample" + digit + ".png";
    String name = "digit" + digit;
    check(
        Shared.file("models/mnist_lstm_int8"),
        picture,
        name,
        operand("TENSOR_QUANT8_ASYMM_SIGNED", 0.003921569f, -128, 1, 28, 28),
        null,
        null);
    check(
        Shared.file("models/mnist_lstm_float"),
        picture,
        name,
        operand("TENSOR_FLOAT32", 0, 0, 1, 28, 28),
        0f,
        255f);
  }

  private static void check(
      Path directory, String picture, String name, Operand input, Float mean, Float std)
      throws Exception {
    Normalization normalization =
        mean == null
            ? Normalization.known(input, Optional.empty()).orElseThrow()
            : Normalization.given(new float[] {mean}, new float[] {std});
    Tensor made = Picture.read(directory.resolve(picture)).tensor(input, normalization);
    Tensor stored =
        Tensor.of(input, Files.readAllBytes(directory.resolve("input_" + name + "_0.bin")));
    double most = 0;
    for (long i = 0; i < stored.count(); i++) {
      most = Math.max(most, Math.abs(stored.stored(i) - made.stored(i)));
    }
    assertEquals(0, most, input.type() == OperandCode.TENSOR_FLOAT32 ? 1e-6 : 0);
  }

  @Test
  void channelsFirstHoldsPlanes() throws Exception {
    Operand input = operand("TENSOR_FLOAT32", 0, 0, 1, 3, 1, 2);
    PictureLayout layout = PictureLayout.of(input.shape()).orElseThrow();
    assertEquals(new PictureLayout(1, 2, 3, true), layout);
    Picture picture = Picture.of(2, 1, new int[] {0x010203, 0x0A0B0C});
    Tensor tensor =
        layout.fill(input, picture, Normalization.given(new float[] {0, 1, 2}, new float[] {1}));
    double[] expected = {1, 10, 1, 10, 1, 10};
    for (int i = 0; i < expected.length; i++) {
      assertEquals(expected[i], tensor.stored(i), "element " + i);
    }
  }

  @Test
  void aValueComesBackAsThePictureItWasMadeOf() throws Exception {
    Picture picture = Picture.of(2, 1, new int[] {0x010203, 0xFA80FF});
    Normalization normalization = Normalization.given(new float[] {127.5f}, new float[] {127.5f});
    for (Shape shape : new Shape[] {Shape.of(1, 1, 2, 3), Shape.of(1, 3, 1, 2)}) {
      Tensor tensor =
          picture.tensor(operand("TENSOR_FLOAT32", 0, 0, shape.toArray()), normalization);
      BufferedImage back = PictureLayout.picture(tensor, normalization).toImage();
      assertEquals(0xFF010203, back.getRGB(0, 0));
      assertEquals(0xFFFA80FF, back.getRGB(1, 0));
    }
  }

  @Test
  void inputsThatTakeNoPictureSaySo() {
    Picture picture = Picture.of(1, 1, new int[] {0});
    assertRefused(
        "x TENSOR_FLOAT32 1x640 takes no picture",
        () -> picture.tensor(operand("TENSOR_FLOAT32", 0, 0, 1, 640), Optional.empty()));
    assertRefused(
        "the model leaves the size of its pictures open (x TENSOR_FLOAT32 1x?x?x3);"
            + " name it by Operand.with(Shape)",
        () -> picture.tensor(operand("TENSOR_FLOAT32", 0, 0, 1, 0, 0, 3), Optional.empty()));
    assertRefused(
        "the model does not say how x TENSOR_FLOAT32 1x2x2x3 was normalized; name a Normalization",
        () -> picture.tensor(operand("TENSOR_FLOAT32", 0, 0, 1, 2, 2, 3), Optional.empty()));
    Normalization two = Normalization.given(new float[] {1, 2}, new float[] {1});
    assertRefused(
        "a normalization has one number, or one for each of the 3 channels of"
            + " x TENSOR_FLOAT32 1x2x2x3",
        () -> picture.tensor(operand("TENSOR_FLOAT32", 0, 0, 1, 2, 2, 3), two));
  }

  private static void assertRefused(String line, Executable action) {
    NeuralNetworksException e = assertThrows(NeuralNetworksException.class, action);
    assertEquals(line, e.getMessage());
    assertEquals(ResultCode.BAD_DATA, e.code());
  }

  @Test
  void layoutsAreToldByTheirChannels() {
    assertEquals(
        Optional.of(new PictureLayout(224, 200, 3, false)),
        PictureLayout.of(Shape.of(1, 224, 200, 3)));
    assertEquals(
        Optional.of(new PictureLayout(28, 28, 1, false)), PictureLayout.of(Shape.of(1, 28, 28, 1)));
    assertEquals(
        Optional.of(new PictureLayout(28, 28, 1, false)), PictureLayout.of(Shape.of(1, 28, 28)));
    assertEquals(
        Optional.of(new PictureLayout(5, 6, 3, false)), PictureLayout.of(Shape.of(5, 6, 3)));
    assertEquals(
        Optional.of(new PictureLayout(0, 0, 3, false)), PictureLayout.of(Shape.of(0, 0, 0, 3)));
    assertEquals(Optional.empty(), PictureLayout.of(Shape.of(2, 224, 224, 3)));
    assertEquals(Optional.empty(), PictureLayout.of(Shape.of(1, 640)));
    assertEquals(Optional.empty(), PictureLayout.of(Shape.of(1, 224, 224, 4)));
  }

  @Test
  void transparencyIsShownOnWhite() throws Exception {
    BufferedImage image = new BufferedImage(2, 1, BufferedImage.TYPE_INT_ARGB);
    image.setRGB(0, 0, 0x00000000);
    image.setRGB(1, 0, 0xFF102030);
    Path file = folder.resolve("a.png");
    ImageIO.write(image, "png", file.toFile());
    Picture picture = Picture.read(file);
    assertEquals(0xFFFFFF, picture.rgb(0, 0));
    assertEquals(0x102030, picture.rgb(1, 0));
  }

  @Test
  void lumaOfGrayIsThatGray() {
    int[] grays = new int[256];
    Arrays.setAll(grays, i -> i * 0x010101);
    Picture picture = Picture.of(256, 1, grays);
    for (int i = 0; i < 256; i++) {
      assertEquals(i, picture.luma(i, 0));
    }
    assertEquals(76, Picture.of(1, 1, new int[] {0xFF0000}).luma(0, 0));
  }

  /** The effect of each orientation on a picture of A over B: rows of the upright one. */
  @ParameterizedTest
  @CsvSource({
    "1,0 1 2/3 4 5",
    "2,2 1 0/5 4 3",
    "3,5 4 3/2 1 0",
    "4,3 4 5/0 1 2",
    "5,0 3/1 4/2 5",
    "6,3 0/4 1/5 2",
    "7,5 2/4 1/3 0",
    "8,2 5/1 4/0 3",
    "9,0 1 2/3 4 5"
  })
  void orientationsTurnThePicture(int orientation, String rows) {
    Picture turned = Picture.of(3, 2, new int[] {0, 1, 2, 3, 4, 5}).turned(orientation);
    StringBuilder text = new StringBuilder();
    for (int y = 0; y < turned.height(); y++) {
      text.append(y == 0 ? "" : "/");
      for (int x = 0; x < turned.width(); x++) {
        text.append(x == 0 ? "" : " ").append(turned.rgb(x, y));
      }
    }
    assertEquals(rows, text.toString());
  }

  @Test
  void aJpegHeldSidewaysIsTurned() throws Exception {
    BufferedImage image = new BufferedImage(64, 32, BufferedImage.TYPE_INT_RGB);
    for (int y = 0; y < 32; y++) {
      for (int x = 0; x < 32; x++) {
        image.setRGB(x, y, 0xFFFFFF);
      }
    }
    ByteArrayOutputStream plain = new ByteArrayOutputStream();
    ImageIO.write(image, "jpg", plain);
    byte[] jpeg = plain.toByteArray();
    byte[] tiff = {
      'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6,
      0, 0, 0, 0, 0, 0
    };
    ByteBuffer file = ByteBuffer.allocate(jpeg.length + tiff.length + 4);
    file.put(jpeg, 0, 2).putShort((short) 0xFFE1).putShort((short) (tiff.length + 2));
    file.put(tiff).put(jpeg, 2, jpeg.length - 2);
    Picture picture = Picture.read(Files.write(folder.resolve("a.jpg"), file.array()));
    assertEquals(32, picture.width());
    assertEquals(64, picture.height());
    assertTrue(picture.luma(16, 8) > 200 && picture.luma(16, 56) < 50, "white stands above");
  }

  @Test
  void unreadablePicturesAreOneLineEach() throws IOException {
    assertLine(
        "a.png is no picture that can be read (png, jpg, bmp, gif)", "a.png", "hello".getBytes());
  }

  @Test
  void sizesAreCheckedBeforeAnythingIsDecoded() throws IOException {
    byte[] png = encode("png");
    ByteBuffer.wrap(png).putInt(16, 60_000).putInt(20, 50_000); // width and height in IHDR
    assertLine("a.png claims 60000x50000 pixels; at most 67108864 are decoded", "a.png", png);
    byte[] bmp = encode("bmp");
    ByteBuffer.wrap(bmp).order(ByteOrder.LITTLE_ENDIAN).putInt(18, 30_000).putInt(22, 30_000);
    assertLine(
        "a.bmp is a damaged picture: Invalid width/height for BI_RGB image data.", "a.bmp", bmp);
  }

  @ParameterizedTest
  @ValueSource(strings = {"png", "jpg", "bmp", "gif"})
  void truncatedPicturesAreDamaged(String format) throws IOException {
    byte[] whole = encode(format);
    for (int length : new int[] {whole.length / 4, whole.length / 2, whole.length * 3 / 4}) {
      Path file = folder.resolve("cut-" + length + "." + format);
      Files.write(file, Arrays.copyOf(whole, length));
      NeuralNetworksException e =
          assertThrows(NeuralNetworksException.class, () -> Picture.read(file));
      assertEquals(1, e.getMessage().lines().count());
      assertTrue(e.getMessage().contains(file.getFileName().toString()), e.getMessage());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"png", "jpg", "bmp", "gif"})
  void damagedPicturesNeverThrowAnythingElse(String format) throws IOException {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("seed " + seed);
    Random random = new Random(seed);
    byte[] whole = encode(format);
    for (int round = 0; round < 200; round++) {
      byte[] damaged = whole.clone();
      for (int i = 0; i < 1 + round % 4; i++) {
        damaged[random.nextInt(Math.min(damaged.length, 400))] = (byte) random.nextInt();
      }
      Path file = Files.write(folder.resolve("damaged." + format), damaged);
      try {
        Picture.read(file);
      } catch (NeuralNetworksException e) {
        assertEquals(1, e.getMessage().lines().count());
      }
    }
  }

  private static byte[] encode(String format) throws IOException {
    BufferedImage image = new BufferedImage(40, 30, BufferedImage.TYPE_INT_RGB);
    Random random = new Random(5);
    for (int y = 0; y < 30; y++) {
      for (int x = 0; x < 40; x++) {
        image.setRGB(x, y, random.nextInt());
      }
    }
    File file = File.createTempFile("picture", "." + format);
    try {
      assertTrue(ImageIO.write(image, format, file));
      return Files.readAllBytes(file.toPath());
    } finally {
      Files.delete(file.toPath());
    }
  }

  private void assertLine(String line, String name, byte[] bytes) throws IOException {
    Path file = Files.write(folder.resolve(name), bytes);
    NeuralNetworksException e =
        assertThrows(NeuralNetworksException.class, () -> Picture.read(file));
    assertEquals(line, e.getMessage());
    assertEquals(ResultCode.BAD_DATA, e.code());
  }
}
