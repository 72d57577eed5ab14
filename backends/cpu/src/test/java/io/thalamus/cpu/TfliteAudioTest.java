// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.flatbuffers.FlexBuffersBuilder;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tensorflow.lite.schema.TensorType;

/** Spectra and cepstra of noise, as TensorFlow Lite defines them, computed in doubles. */
class TfliteAudioTest {
  private static final int CHANNELS = 2;
  private static final int BANDS = 12;
  private static final int COEFFICIENTS = 7;

  private final long seed = Long.getLong("thalamus.seed", 1);

  private static ByteBuffer settings(Object... namesAndValues) {
    FlexBuffersBuilder builder = new FlexBuffersBuilder(64);
    int start = builder.startMap();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      String name = (String) namesAndValues[i];
      if (namesAndValues[i + 1] instanceof Boolean truth) {
        builder.putBoolean(name, truth);
      } else {
        builder.putInt(name, (int) namesAndValues[i + 1]);
      }
    }
    builder.endMap(null, start);
    return builder.finish();
  }

  private static ByteBuffer spectrum(int window, int stride, boolean isSquared) {
    return settings("window_size", window, "stride", stride, "magnitude_squared", isSquared);
  }

  private static ByteBuffer cepstrum(int lower, int upper) {
    return settings(
        "upper_frequency_limit",
        upper,
        "lower_frequency_limit",
        lower,
        "filterbank_channel_count",
        BANDS,
        "dct_coefficient_count",
        COEFFICIENTS);
  }

  private static int bins(int window) {
    int length = 1;
    while (length < window) {
      length *= 2;
    }
    return length / 2 + 1;
  }

  /** The squares of one window. */
  private static double[] energy(double[] samples, int channel, int first, int window) {
    int bins = bins(window);
    double[] energy = new double[bins];
    for (int bin = 0; bin < bins; bin++) {
      double real = 0;
      double imaginary = 0;
      for (int i = 0; i < window; i++) {
        double weight = 0.5 - 0.5 * Math.cos(2 * Math.PI * i / window);
        double value = weight * samples[(first + i) * CHANNELS + channel];
        double angle = Math.PI * bin * i / (bins - 1);
        real += value * Math.cos(angle);
        imaginary -= value * Math.sin(angle);
      }
      energy[bin] = real * real + imaginary * imaginary;
    }
    return energy;
  }

  private static double mel(double hertz) {
    return 1127 * Math.log1p(hertz / 700);
  }

  /** Each frequency is shared by the two bands whose centers are next to it. */
  private static double[] cepstrum(double[] energy, int rate, int lower, int upper) {
    double step = 0.5 * rate / (energy.length - 1);
    if ((int) (upper / step) >= energy.length) {
      return new double[COEFFICIENTS];
    }
    double low = mel(lower);
    double spacing = (mel(upper) - low) / (BANDS + 1);
    double[] bands = new double[BANDS];
    for (int bin = (int) (1.5 + lower / step); bin <= (int) (upper / step); bin++) {
      double place = (mel(bin * step) - low) / spacing;
      int left = (int) Math.floor(place) - 1;
      double right = place - Math.floor(place);
      if (left >= 0 && left < BANDS) {
        bands[left] += (1 - right) * Math.sqrt(energy[bin]);
      }
      if (left + 1 < BANDS) {
        bands[left + 1] += right * Math.sqrt(energy[bin]);
      }
    }
    double[] coefficients = new double[COEFFICIENTS];
    for (int i = 0; i < COEFFICIENTS; i++) {
      for (int band = 0; band < BANDS; band++) {
        coefficients[i] +=
            Math.sqrt(2.0 / BANDS)
                * Math.cos(i * Math.PI / BANDS * (band + 0.5))
                * Math.log(Math.max(bands[band], 1e-12));
      }
    }
    return coefficients;
  }

  @ParameterizedTest
  @CsvSource({
    "200, 64, 32, true, 16000, 20, 4000",
    "300, 100, 33, true, 8000, 0, 3999",
    "70, 50, 7, false, 22050, 500, 11000",
    "64, 64, 1, true, 16000, 3000, 8000",
    "64, 64, 1, true, 16000, 20, 8250",
    "64, 64, 1, true, 7, 20, 4000"
  })
  void speechIsAsDefined(
      int count, int window, int stride, boolean isSquared, int rate, int lower, int upper)
      throws Exception {
    System.out.println("TfliteAudioTest seed " + seed);
    Random random = new Random(seed);
    double[] samples = new double[count * CHANNELS];
    Arrays.setAll(samples, i -> (float) random.nextGaussian());
    int windows = 1 + (count - window) / stride;
    int bins = bins(window);
    OperatorFile file = new OperatorFile();
    int given = file.input(TensorType.FLOAT32, new int[] {count, CHANNELS}, samples);
    int hertz = file.input(TensorType.INT32, new int[] {1}, rate);
    int spectrum = file.result(TensorType.FLOAT32, CHANNELS, windows, bins);
    int cepstrum = file.result(TensorType.FLOAT32, CHANNELS, windows, COEFFICIENTS);
    List<double[]> results =
        file.custom(
                "AudioSpectrogram",
                spectrum(window, stride, isSquared),
                new int[] {given},
                spectrum)
            .custom("Mfcc", cepstrum(lower, upper), new int[] {spectrum, hertz}, cepstrum)
            .run(spectrum, cepstrum);
    for (int row = 0; row < CHANNELS * windows; row++) {
      double[] energy = energy(samples, row / windows, row % windows * stride, window);
      if (!isSquared) {
        Arrays.setAll(energy, bin -> Math.sqrt(energy[bin]));
      }
      for (int bin = 0; bin < bins; bin++) {
        double got = results.getFirst()[row * bins + bin];
        assertEquals(energy[bin], got, 1e-3 + 1e-5 * energy[bin], "row " + row + ", bin " + bin);
      }
      double[] wanted = cepstrum(energy, rate, lower, upper);
      for (int i = 0; i < COEFFICIENTS; i++) {
        double got = results.getLast()[row * COEFFICIENTS + i];
        assertEquals(wanted[i], got, 1e-3, "row " + row + ", coefficient " + i);
      }
    }
  }

  @Test
  void windowsThatDoNotFitAreRefused() {
    for (int[] wrong : new int[][] {{1, 1}, {65, 1}, {64, 0}}) {
      OperatorFile file = new OperatorFile();
      int given = file.input(TensorType.FLOAT32, new int[] {64, 1}, new double[64]);
      int spectrum = file.result(TensorType.FLOAT32, 1, 1, 33);
      ByteBuffer settings = spectrum(wrong[0], wrong[1], true);
      file.custom("AudioSpectrogram", settings, new int[] {given}, spectrum);
      Exception refused = assertThrows(Exception.class, () -> file.run(spectrum));
      assertTrue(refused.getMessage().contains("it takes windows of"), refused.getMessage());
    }
  }
}
