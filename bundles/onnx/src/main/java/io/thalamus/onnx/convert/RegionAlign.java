// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.onnx.file.DataType;
import io.thalamus.operations.extension.ThalamusExtension;

/**
 * Regions of images whose places are computed: MaxRoiPool by NNAPI's operation, whose boxes lie in
 * the image, and RoiAlign by the extension's. Also where only an execution determines how many
 * there are.
 */
final class RegionAlign {
  private RegionAlign() {}

  static void addTo(Converters table) {
    table.add("RoiAlign", RegionAlign::align);
    table.add("MaxRoiPool", RegionAlign::pool);
  }

  /** A row of a region has the number of its image in front of its corners. */
  static void pool(Node node) {
    Ops ops = node.ops();
    Value image = node.in(0);
    Value rows = node.openIn(1);
    int[] size = node.list("pooled_shape");
    node.require(
        image.rank() == 4 && rows.rank() == 2 && rows.dim(1) == 5 && image.type().isFloat(),
        "it has the inputs " + image.text() + " and " + rows.text());
    node.require(size != null && size.length == 2, "it does not say how large its results are");
    Value regions = ops.cast(rows, DataType.FLOAT);
    Value of = ops.gather(regions, 1, ops.integers(new int[0], 0));
    Value corners = ops.gather(regions, 1, ops.integers(new int[] {4}, 1, 2, 3, 4));
    double ratio = 1 / node.real("spatial_scale", 1);
    Value found =
        ops.emitSized(
            image.type(),
            new int[] {rows.dim(0), size[0], size[1], image.dim(1)},
            OperationCode.ROI_POOLING,
            ops.operand(ops.transpose(image, 0, 2, 3, 1)),
            ops.operand(corners),
            ops.operand(ops.cast(of, DataType.INT32)),
            ops.int32(size[0]),
            ops.int32(size[1]),
            ops.real(ratio),
            ops.real(ratio),
            ops.bool(false));
    node.out(ops.transpose(found, 0, 3, 1, 2));
  }

  static void align(Node node) {
    Ops ops = node.ops();
    Value image = node.in(0);
    Value boxes = node.openIn(1);
    node.require(
        image.rank() == 4 && boxes.rank() == 2 && image.type().isFloat(),
        "it has the inputs " + image.text() + " and " + boxes.text());
    int height = node.setting("output_height", 1);
    int width = node.setting("output_width", 1);
    node.require(height > 0 && width > 0, "its output has no elements");
    String mode =
        node.text(
            "coordinate_transformation_mode",
            node.opset() >= 16 ? "half_pixel" : "output_half_pixel");
    Value found =
        ops.emitSized(
            image.type(),
            new int[] {boxes.dim(0), height, width, image.dim(1)},
            ThalamusExtension.ROI_ALIGN,
            ops.operand(ops.transpose(image, 0, 2, 3, 1)),
            ops.operand(ops.cast(boxes, DataType.FLOAT)),
            ops.operand(ops.cast(node.openIn(2), DataType.INT32)),
            ops.int32(height),
            ops.int32(width),
            ops.int32(node.setting("sampling_ratio", 0)),
            ops.real(node.real("spatial_scale", 1)),
            ops.bool(mode.equals("half_pixel")),
            ops.bool(node.text("mode", "avg").equals("max")));
    node.out(ops.transpose(found, 0, 3, 1, 2));
  }
}
