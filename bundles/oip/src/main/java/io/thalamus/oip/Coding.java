// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import static io.thalamus.model.LittleEndian.INT;

import io.thalamus.http.Headers;
import io.thalamus.http.HttpException;
import io.thalamus.model.reader.SegmentInputStream;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.protocol.RequestMemory;
import io.thalamus.serving.protocol.Texts;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.InflaterInputStream;
import java.util.zip.ZipException;

/** The compressions of bodies, as the headers of HTTP name them. */
enum Coding {
  GZIP {
    @Override
    InputStream inflate(InputStream in) throws IOException {
      return new GZIPInputStream(in, CHUNK);
    }

    @Override
    OutputStream deflate(OutputStream out) throws IOException {
      return new GZIPOutputStream(out, CHUNK);
    }
  },
  DEFLATE {
    @Override
    InputStream inflate(InputStream in) {
      return new InflaterInputStream(in);
    }

    @Override
    OutputStream deflate(OutputStream out) {
      return new DeflaterOutputStream(out);
    }
  };

  private static final int CHUNK = 32 * 1024;

  /** Nothing is compressed more tightly than this by either. */
  private static final long TIGHTEST = 1032;

  abstract InputStream inflate(InputStream in) throws IOException;

  abstract OutputStream deflate(OutputStream out) throws IOException;

  /** Returns the name in headers. */
  String header() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the body of a request as it was before it was compressed, if it was.
   *
   * @param limit the bytes that it may have
   * @throws HttpException with 415 if its compression is not known
   */
  static MemorySegment decode(Headers headers, MemorySegment body, RequestMemory memory, long limit)
      throws HttpException, ServingException {
    String name = headers.first("Content-Encoding").orElse("").strip().toLowerCase(Locale.ROOT);
    return switch (name) {
      case "", "identity" -> body;
      case "gzip", "x-gzip" -> GZIP.inflate(body, memory, limit);
      case "deflate" -> DEFLATE.inflate(body, memory, limit);
      default ->
          throw new HttpException(
              415,
              "Content-Encoding is " + Texts.quote(name) + ": expected gzip, deflate or identity",
              Map.of("Accept-Encoding", "gzip, deflate"));
    };
  }

  private MemorySegment inflate(MemorySegment body, RequestMemory memory, long limit)
      throws ServingException {
    byte[] chunk = new byte[CHUNK];
    MemorySegment target = MemorySegment.NULL;
    long size = 0;
    try (InputStream in = inflate(new SegmentInputStream(body))) {
      for (int count = in.read(chunk); count >= 0; count = in.read(chunk)) {
        if (size + count > limit) {
          throw Failures.tooLarge(
              "the body is larger than " + limit + " bytes once it is decompressed");
        }
        if (size + count > target.byteSize()) {
          long wanted = size == 0 ? firstGuess(body) : 2 * target.byteSize();
          MemorySegment larger =
              memory.allocate("the body", Math.clamp(wanted, size + count, limit));
          MemorySegment.copy(target, 0, larger, 0, size);
          target = larger;
        }
        MemorySegment.copy(chunk, 0, target, ValueLayout.JAVA_BYTE, size, count);
        size += count;
      }
    } catch (ZipException | EOFException e) {
      String why = e.getMessage() == null ? "" : ": " + e.getMessage();
      throw ServingException.invalid(
          "the body is not "
              + header()
              + ", which Content-Encoding says"
              + (e instanceof EOFException ? ": it ends too early" : why));
    } catch (IOException e) {
      throw new UncheckedIOException("memory cannot be read", e);
    }
    return target.asSlice(0, size);
  }

  /** Returns a size that may be right: the one that stands at the end, if it is believable. */
  private long firstGuess(MemorySegment body) {
    long most = TIGHTEST * body.byteSize();
    long said =
        this == GZIP ? Integer.toUnsignedLong(body.get(INT, body.byteSize() - INT.byteSize())) : 0;
    return said > 0 && said <= most ? said : 4 * body.byteSize();
  }

  /** Returns the compression that the client prefers for the answer; empty for none. */
  static Optional<Coding> accepted(Headers headers) {
    Optional<Coding> best = Optional.empty();
    double most = 0;
    for (String value : headers.all("Accept-Encoding")) {
      for (String each : value.split(",")) {
        String[] words = each.strip().toLowerCase(Locale.ROOT).split("\\s*;\\s*");
        Optional<Coding> named = named(words[0]);
        double quality = quality(words);
        // Of two that are liked alike it is gzip, since clients disagree on deflate.
        boolean isBetter = quality > most || (quality == most && named.equals(Optional.of(GZIP)));
        if (named.isPresent() && quality > 0 && isBetter) {
          best = named;
          most = quality;
        }
      }
    }
    return best;
  }

  private static Optional<Coding> named(String name) {
    return switch (name) {
      case "gzip", "x-gzip" -> Optional.of(GZIP);
      case "deflate" -> Optional.of(DEFLATE);
      default -> Optional.empty();
    };
  }

  private static double quality(String... words) {
    for (String word : words) {
      if (word.startsWith("q=")) {
        try {
          return Double.parseDouble(word.substring(2));
        } catch (NumberFormatException e) {
          // Who says it wrongly gets what needs no understanding.
          return 0;
        }
      }
    }
    return 1;
  }

  /** Returns the bytes of all parts, compressed. */
  MemorySegment encode(List<MemorySegment> parts) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    byte[] chunk = new byte[CHUNK];
    try (OutputStream out = deflate(bytes)) {
      for (MemorySegment part : parts) {
        for (long at = 0; at < part.byteSize(); at += CHUNK) {
          int count = (int) Math.min(CHUNK, part.byteSize() - at);
          MemorySegment.copy(part, ValueLayout.JAVA_BYTE, at, chunk, 0, count);
          out.write(chunk, 0, count);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException("memory cannot be written", e);
    }
    return MemorySegment.ofArray(bytes.toByteArray());
  }
}
