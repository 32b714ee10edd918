/* test_images.c - images from idx, .npy, PNG, JPEG and archives of them become frames; whatever is wrong with them is one
 * error that names the file. */
#include "tests/ml/image_rig.h"

#include "base/mem.h"

#include <math.h>

/* Three images of 2 x 3, with labels. */
static const uint8_t pixels[18] = {
    0, 1, 2, 3, 4, 255, 10, 11, 12, 13, 14, 15, 7, 7, 7, 7, 7, 200
};
static const int64_t image_dims[] = { 3, 2, 3 };

static void pair_make(struct buf *tar, bool labels_first, const uint8_t *labels, int n_labels)
{
    struct buf images = { 0 }, marks = { 0 };
    const int64_t n = n_labels;

    image_rig_idx(&images, image_dims, 3, pixels, sizeof pixels);
    image_rig_idx(&marks, &n, 1, labels, (size_t)n_labels);
    if (labels_first)
        image_rig_tar(tar, "labels", marks.data, marks.len);
    image_rig_tar(tar, "images", images.data, images.len);
    if (!labels_first)
        image_rig_tar(tar, "labels", marks.data, marks.len);
    image_rig_tar_end(tar);
    buf_fini(&images);
    buf_fini(&marks);
}

static void check_pair(const struct frame *f)
{
    char name[FRAME_PIXEL_NAME];

    assert_int_equal(f->rows, 3);
    assert_int_equal(f->image.first, 1);
    assert_int_equal(f->image.height, 2);
    assert_int_equal(f->image.width, 3);
    assert_int_equal(f->image.channels, 1);
    for (int i = 0; i < 18; i++) {
        frame_pixel_name(&f->image, i % 6, name);
        assert_float_equal(image_rig_number(f, name, i / 6), pixels[i], 0);
    }
    const struct frame_col *c = &f->cols[frame_find(f, "p1_2")];
    assert_float_equal(c->min, 15, 0);
    assert_float_equal(c->max, 255, 0);
    assert_float_equal(c->mean, (255 + 15 + 200) / 3.0, 1e-12);
    assert_int_equal(c->distinct, 3);
    assert_string_equal(image_rig_label(f, 0), "4");
    assert_string_equal(image_rig_label(f, 1), "9");
    assert_string_equal(image_rig_label(f, 2), "4");
}

static void images_and_labels_become_columns_in_any_order_and_any_reads(void **state)
{
    const uint8_t labels[] = { 4, 9, 4 };
    char hash[2][SHA256_HEX];
    struct err err = { 0 };

    (void)state;
    for (int first = 0; first < 2; first++) {
        for (size_t step = 0; step < 700; step = step * 3 + 1) {
            struct buf tar = { 0 };
            pair_make(&tar, first, labels, 3);
            struct frame *f = image_rig_frame(&tar, step, false, hash[step > 0], &err);
            assert_non_null(f);
            check_pair(f);
            assert_string_equal(hash[step > 0], hash[0]);
            frame_close(f);
            buf_fini(&tar);
        }
    }
}

static void the_schema_tells_images_in_one_line(void **state)
{
    const uint8_t labels[] = { 4, 9, 4 };
    struct err err = { 0 };
    struct buf tar = { 0 };

    (void)state;
    pair_make(&tar, true, labels, 3);
    struct frame *f = image_rig_frame(&tar, 0, false, NULL, &err);
    char *text = frame_schema_json(f);
    assert_string_equal(text, "{\"rows\":3,\"image\":{\"height\":2,\"width\":3,\"channels\":1,"
                              "\"min\":0,\"max\":255,\"mean\":31.944444444444443},"
                              "\"columns\":[{\"name\":\"label\",\"type\":\"categorical\","
                              "\"missing\":0,\"distinct\":2,\"levels\":[\"4\",\"9\"]}]}");
    mem_free(text);
    frame_close(f);
    buf_fini(&tar);
}

static void npy_arrays_keep_floats_and_number_labels(void **state)
{
    const float values[16] = { 0.5f, NAN, -1e30f, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    const double targets[2] = { 1.25, -2 };
    struct buf images = { 0 }, labels = { 0 }, tar = { 0 };
    struct err err = { 0 };

    (void)state;
    image_rig_npy(&images, "<f4", "(2, 2, 2, 2)", values, sizeof values);
    image_rig_npy(&labels, "<f8", "(2,)", targets, sizeof targets);
    image_rig_tar(&tar, "x.npy", images.data, images.len);
    image_rig_tar(&tar, "y.npy", labels.data, labels.len);
    image_rig_tar_end(&tar);
    struct frame *f = image_rig_frame(&tar, 0, false, NULL, &err);
    assert_non_null(f);
    assert_int_equal(f->image.channels, 2);
    assert_float_equal(image_rig_number(f, "p0_0_0", 0), 0.5, 0);
    assert_true(isnan(image_rig_number(f, "p0_0_1", 0)));
    assert_float_equal(image_rig_number(f, "p0_1_0", 0), (double)-1e30f, 0);
    assert_float_equal(image_rig_number(f, "p1_1_1", 1), 15, 0);
    assert_float_equal(image_rig_number(f, "label", 0), 1.25, 0);
    frame_close(f);
    buf_fini(&images);
    buf_fini(&labels);
    buf_fini(&tar);
}

static void pictures_take_their_folder_as_class(void **state)
{
    uint8_t flat[3 * 4 * 3];
    struct buf tar = { 0 };
    struct err err = { 0 };
    static const char *const names[] = { "cat/1.png", "dog/b/cat/2.jpg", "dog/3.png", "dog/.x" };

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct buf one = { 0 };
        memset(flat, 40 * (i + 1), sizeof flat);
        if (i == 1)
            image_rig_jpeg(&one, flat, 3, 4, 3);
        else
            image_rig_png(&one, flat, 3, 4, i == 2 ? 1 : 3); /* a gray one among coloured ones */
        image_rig_tar(&tar, names[i], one.data, one.len);
        buf_fini(&one);
    }
    image_rig_tar(&tar, names[3], "junk", 4);
    image_rig_tar_end(&tar);
    struct frame *f = image_rig_frame(&tar, 0, false, NULL, &err);
    assert_non_null(f);
    assert_int_equal(f->rows, 3);
    assert_int_equal(f->image.channels, 3);
    for (int i = 0; i < 3; i++)
        assert_float_equal(image_rig_number(f, "p2_3_2", i), 40 * (i + 1), 1);
    assert_string_equal(image_rig_label(f, 0), "cat");
    assert_string_equal(image_rig_label(f, 1), "cat");
    assert_string_equal(image_rig_label(f, 2), "dog");
    frame_close(f);
    buf_fini(&tar);
}

static void the_first_part_of_a_file_gives_the_images_that_are_whole(void **state)
{
    const uint8_t labels[] = { 4, 9, 4 };
    struct err err = { 0 };
    struct buf tar = { 0 };

    (void)state;
    pair_make(&tar, true, labels, 3);
    tar.len = 512 + 512 + 512 + 16 + 13; /* two images and one pixel */
    struct frame *f = image_rig_frame(&tar, 0, true, NULL, &err);
    assert_non_null(f);
    assert_int_equal(f->rows, 2);
    frame_close(f);
    assert_null(image_rig_frame(&tar, 0, false, NULL, &err));
    assert_non_null(strstr(err.text, "ends within"));
    buf_fini(&tar);
}

/* ---- what is wrong ---- */

static void expect(const struct buf *file, const char *text)
{
    struct err err = { 0 };

    assert_null(image_rig_frame(file, 0, false, NULL, &err));
    if (!strstr(err.text, text))
        fail_msg("\"%s\" lacks \"%s\"", err.text, text);
    if (!strstr(err.text, "t.tar"))
        fail_msg("\"%s\" names no file", err.text);
}

static void bad_arrays_are_one_clear_error(void **state)
{
    const uint8_t labels[] = { 4, 9, 4, 1 };
    static const struct {
        const char *descr, *shape, *text;
    } npy[] = {
        { "<f4", "(1, 100000, 100000)", "over the limit of 100000 numbers" },
        { "<f4", "(1, 99999999999999, 2)", "impossible shape" },
        { "<f4", "(3, 2)", "neither images" },
        { "<f4", "(1, 2, 2, 2, 2)", "more than four dimensions" },
        { "<f4", "()", "a single number" },
        { "<f4", "(1, 2, 2, 40)", "40 channels" },
        { "<f2", "(1, 2, 2)", "numbers of 1, 2, 4 or 8 bytes" },
        { "|O", "(1, 2, 2)", "numbers of 1, 2, 4 or 8 bytes" },
        { "<f4", "(5, 2, 2)", "ends after 1 of 5 images" },
        { "<f4", "(0, 2, 2)", "there are no images" },
        { "<f4", "(9,)", "ends after 4 of 9 labels" },
    };
    const float four[4] = { 1, 2, 3, 4 };

    (void)state;
    for (size_t i = 0; i < sizeof npy / sizeof npy[0]; i++) {
        struct buf b = { 0 };
        image_rig_npy(&b, npy[i].descr, npy[i].shape, four, sizeof four);
        expect(&b, npy[i].text);
        buf_fini(&b);
    }
    for (int n = 2; n <= 4; n += 2) {
        struct buf tar = { 0 };
        pair_make(&tar, n == 2, labels, n);
        expect(&tar, n == 2 ? "3 images, but 2 labels" : "3 images, but 4 labels");
        buf_fini(&tar);
    }
    const int64_t huge[] = { 0xffffffff, 2, 3 };
    struct buf claims = { 0 }, type = { 0 };
    image_rig_idx(&claims, huge, 3, pixels, sizeof pixels);
    expect(&claims, "ends after 3 of 4294967295 images");
    image_rig_idx(&type, image_dims, 3, pixels, sizeof pixels);
    type.data[2] = 10;
    expect(&type, "no type 10");
    buf_fini(&claims);
    buf_fini(&type);
}

/* A picture that is changed in one way, after one that is as it should be. */
static void expect_picture(const struct buf *second, const char *name, const char *text)
{
    const uint8_t flat[12] = { 9 };
    struct buf tar = { 0 }, first = { 0 };

    image_rig_png(&first, flat, 3, 4, 1);
    image_rig_tar(&tar, "a/first.png", first.data, first.len);
    image_rig_tar(&tar, name, second->data, second->len);
    image_rig_tar_end(&tar);
    expect(&tar, text);
    expect(&tar, name);
    buf_fini(&tar);
    buf_fini(&first);
}

static void bad_pictures_are_one_clear_error(void **state)
{
    uint8_t flat[600] = { 9, 3, 7 };
    struct buf png = { 0 }, jpeg = { 0 }, size = { 0 }, colour = { 0 }, text = { 0 };

    (void)state;
    image_rig_png(&png, flat, 3, 4, 1);
    image_rig_jpeg(&jpeg, flat, 20, 30, 1);
    image_rig_png(&size, flat, 4, 3, 1);
    image_rig_png(&colour, flat, 3, 4, 3);
    buf_init(&text, 100);
    buf_adds(&text, "hello", NULL);
    expect_picture(&size, "a/b.png", "3 x 4 with 1 channels, the images before it are 4 x 3");
    expect_picture(&colour, "a/b.png", "coloured");
    expect_picture(&text, "a/notes.txt", "neither a PNG");
    expect_picture(&png, "b.png", "outside of the classes' folders");
    for (size_t n = 8; n + 12 < png.len;
         n++) { /* the last 12 bytes end the file, and nobody misses them */
        struct buf cut = { .data = png.data, .len = n };
        expect_picture(&cut, "a/cut.png", "damaged");
    }
    struct buf cut = { .data = jpeg.data, .len = jpeg.len / 2 };
    expect_picture(&cut, "a/cut.jpg", "damaged");
    uint32_t wide = 0xffffff7f; /* big-endian 2^31 - 129 */
    memcpy(png.data + 16, &wide, 4);
    expect_picture(&png, "a/wide.png", "PNG");
    buf_fini(&png);
    buf_fini(&jpeg);
    buf_fini(&size);
    buf_fini(&colour);
    buf_fini(&text);
}

static void bad_archives_are_one_clear_error(void **state)
{
    const uint8_t labels[] = { 4, 9, 4 };
    struct buf tar = { 0 }, two = { 0 };

    (void)state;
    pair_make(&tar, true, labels, 3);
    tar.data[1024 + 3] ^= 1; /* the checksum of the second file no longer holds */
    expect(&tar, "damaged after \"labels\"");
    for (int i = 0; i < 2; i++)
        image_rig_tar(&two, "images", tar.data + 1024 + 512, 16 + 18);
    image_rig_tar_end(&two);
    expect(&two, "a second array of images");
    buf_fini(&tar);
    buf_fini(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_and_labels_become_columns_in_any_order_and_any_reads),
        cmocka_unit_test(the_schema_tells_images_in_one_line),
        cmocka_unit_test(npy_arrays_keep_floats_and_number_labels),
        cmocka_unit_test(pictures_take_their_folder_as_class),
        cmocka_unit_test(the_first_part_of_a_file_gives_the_images_that_are_whole),
        cmocka_unit_test(bad_arrays_are_one_clear_error),
        cmocka_unit_test(bad_pictures_are_one_clear_error),
        cmocka_unit_test(bad_archives_are_one_clear_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
