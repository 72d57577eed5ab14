// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

/**
 * Operators that ONNX had on trial in its first versions. Files of Core ML's converter have them,
 * and ONNX Runtime has kept them.
 */
final class Experimental {
  private Experimental() {}

  static void addTo(Converters table) {
    table.add("Affine", Experimental::affine);
    table.add("Crop", Experimental::crop);
    table.add("ImageScaler", Experimental::imageScaler);
    table.add("ParametricSoftplus", Experimental::parametricSoftplus);
    table.add("Scale", Experimental::scale);
    table.add("ScaledTanh", Experimental::scaledTanh);
  }

  private static void affine(Node node) {
    Ops ops = node.ops();
    Value scaled = ops.mul(node.openIn(0), node.real("alpha", 1));
    node.out(ops.add(scaled, node.real("beta", 0)));
  }

  private static void scale(Node node) {
    node.out(node.ops().mul(node.openIn(0), node.real("scale", 1)));
  }

  private static void scaledTanh(Node node) {
    Ops ops = node.ops();
    Value inner = ops.mul(node.openIn(0), node.real("beta", 1));
    node.out(ops.mul(ops.unary(Unary.TANH, inner), node.real("alpha", 1)));
  }

  private static void parametricSoftplus(Node node) {
    Ops ops = node.ops();
    Value inner = ops.mul(node.openIn(0), node.real("beta", 1));
    node.out(ops.mul(Activation.softplus(ops, inner), node.real("alpha", 1)));
  }

  /** Each channel has a bias of its own. */
  private static void imageScaler(Node node) {
    Ops ops = node.ops();
    Value image = node.in(0);
    double[] bias = node.doubles("bias");
    node.require(
        image.rank() == 4 && bias != null && bias.length == image.dim(1),
        "its bias does not fit " + image.text());
    Value scaled = ops.mul(image, node.real("scale", 1));
    node.out(ops.add(scaled, ops.constant(image.type(), new int[] {bias.length, 1, 1}, bias)));
  }

  /** The border is left, top, right and bottom; a scale says the size instead of the last two. */
  private static void crop(Node node) {
    Value image = node.in(0);
    int[] border = node.list("border");
    int[] scale = node.list("scale");
    node.require(
        image.rank() == 4
            && border != null
            && border.length == 4
            && (scale == null || scale.length == 2),
        "its border does not fit " + image.text());
    int height = scale == null ? image.dim(2) - border[1] - border[3] : scale[0];
    int width = scale == null ? image.dim(3) - border[0] - border[2] : scale[1];
    node.require(
        border[0] >= 0
            && border[1] >= 0
            && height > 0
            && width > 0
            && height <= image.dim(2) - border[1]
            && width <= image.dim(3) - border[0],
        "it cuts %sx%s out of %s".formatted(height, width, image.text()));
    Value rows = node.ops().part(image, 2, border[1], height);
    node.out(node.ops().part(rows, 3, border[0], width));
  }
}
